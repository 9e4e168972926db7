// Sessions: the periods during which events are recorded, and which events. Several may run at once.
#pragma once

#include <memory>
#include <vector>

#include "timeline/recorder.h"

namespace pellucid {

// Starts a session; `what`: bits of Watch. Returns its number.
uint64_t start_session(uint32_t what);

struct ThreadEvents {
  int64_t system_thread;
  uint64_t python_thread;
  std::vector<TimelineEvent> events;  // that started in the session; parents are indices in this list or kNoEvent
  std::vector<uint64_t> facts;        // the words that the events' `facts` point into, equal ones once
};
struct SessionEvents {
  ClockReading begin, end;
  std::vector<ThreadEvents> threads;
  uint64_t lost = 0;  // events for which there was no room
};
// Ends a session. Events that are still running end with it.
SessionEvents stop_session(uint64_t number);

// Adds a range that another process timed, in nanoseconds of ClockReading, to a list of that process.
void add_range_of_process(int64_t process, const char* text, uint64_t begin, uint64_t end);

// Change the watch word, which observers and sessions share.
void watch_more(uint32_t what);
void watch_less(uint32_t what);
void forget_sessions_at_forks();  // called when the runtime is loaded

}  // namespace pellucid
