// The timeline event of one op call.
#pragma once

#include <utility>

#include "core/op_record.h"
#include "core/thread_state.h"
#include "timeline/recorder.h"

namespace pellucid {

// Spans construction to destruction. Does nothing while nothing records; a call that is redispatched at a lower key
// adds the key to the event that it has.
class CallEvent {
 public:
  explicit CallEvent(const OpCall& call) {
    if (is_watched(kWatchCalls)) [[unlikely]]
      open_watched(call);
  }
  // A call that began at `begin` and hit a cache.
  CallEvent(const OpCall& call, uint64_t begin) {
    ThreadTimeline* timeline = thread_timeline();
    if (timeline && timeline->open_arguments != call.args) open(*timeline, call, kRepeatedFlag, begin, call.keys);
  }
  CallEvent(const CallEvent&) = delete;
  CallEvent& operator=(const CallEvent&) = delete;
  ~CallEvent() {
    if (scope_.timeline()) [[unlikely]]
      scope_.timeline()->open_arguments = outer_arguments_;
  }

 private:
  void open_watched(const OpCall& call);
  [[gnu::always_inline]] void open(ThreadTimeline& timeline, const OpCall& call, uint8_t flags, uint64_t begin,
                                   KeySet keys) {
    scope_.open(timeline, EventKind::Call, call.op, flags, thread_state.sequence, begin, keys.bits());
    outer_arguments_ = std::exchange(timeline.open_arguments, call.args);
    if (is_watched(kWatchFacts)) write_facts(call, begin != 0);
  }
  void write_facts(const OpCall& call, bool keeps_begin);

  const void* outer_arguments_ = nullptr;
  TimelineScope scope_;
};

}  // namespace pellucid
