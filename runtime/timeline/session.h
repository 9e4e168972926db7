// Sessions: from when on and until when somebody wants events, and which. Several may run at once.
#pragma once

#include <memory>
#include <vector>

#include "timeline/recorder.h"

namespace pellucid {

// Begins a session; `what` of Watch. Returns its number.
uint64_t start_session(uint32_t what);

struct ThreadEvents {
  int64_t system_thread;
  uint64_t python_thread;
  std::vector<TimelineEvent> events;  // that began in the session; parents are numbers in this list or kNoEvent
  std::vector<uint64_t> facts;        // what the events' `facts` are places of
};
struct SessionEvents {
  ClockReading begin, end;
  std::vector<ThreadEvents> threads;
  uint64_t lost = 0;  // events for which there was no room
};
// Ends a session. Events that still run end with it.
SessionEvents stop_session(uint64_t number);

// A change to the words that observers and sessions share.
void watch_more(uint32_t what);
void watch_less(uint32_t what);

}  // namespace pellucid
