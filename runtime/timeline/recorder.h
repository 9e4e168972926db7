// Recording: a thread's timeline, and scopes that write an event of it.
//
// Scopes test the word of watch.h; while nothing records they do no more. A thread writes its own list
// without locks; the list is made when the thread writes its first event. Sessions (session.h) read.
#pragma once

#include <string_view>

#include "timeline/clock.h"
#include "timeline/events.h"
#include "timeline/watch.h"

namespace pellucid {

class ThreadTimeline {
 public:
  ThreadTimeline();

  // Null when the list is full: the event is counted as lost. `at` is when it began; 0: now.
  [[gnu::always_inline]] TimelineEvent* begin(EventKind kind, const void* what, uint64_t sequence = 0,
                                              uint8_t flags = 0, uint64_t at = 0) {
    const auto place = static_cast<uint32_t>(events.size());
    TimelineEvent* event = events.append(1);
    if (!event) [[unlikely]] {
      lost.fetch_add(1, std::memory_order_relaxed);
      return nullptr;
    }
    *event = {.begin = at,
              .end = 0,
              .what = what,
              .bytes = live_bytes,
              .sequence = sequence,
              .extra = 0,
              .parent = open,
              .line = line,
              .facts = 0,
              .kind = kind,
              .flags = flags,
              .detail = 0};
    open = place;
    if (!at) event->begin = ticks();
    last_tick = event->begin;
    return event;
  }
  [[gnu::always_inline]] void end(TimelineEvent& event) {
    last_tick = ticks();
    __atomic_store_n(&event.end, last_tick, __ATOMIC_RELAXED);
    event.bytes = live_bytes - event.bytes;
    open = event.parent;
  }
  // An event without a duration, at the time of the last that began or ended.
  TimelineEvent* note(EventKind kind, const void* what) {
    const uint32_t around = open;
    TimelineEvent* event = begin(kind, what, 0, 0, last_tick ? last_tick : ticks());
    open = around;
    if (event) event->end = event->begin;
    return event;
  }
  // Scopes hold an event of the list, which is not cleared meanwhile. By the owner alone: no locked instruction.
  void count_scopes(int change) {
    const int count = static_cast<int>(scopes.load(std::memory_order_relaxed)) + change;
    scopes.store(static_cast<uint32_t>(count), std::memory_order_release);
  }

  ChunkedList<TimelineEvent, 14, 1024> events;  // 1 MiB a chunk
  ChunkedList<uint64_t, 17, 1024> facts;
  std::atomic<uint64_t> lost{0};
  std::atomic<uint32_t> scopes{0};
  uint32_t open = kNoEvent;
  uint32_t line = 0;                     // that the thread's Python is at
  uint32_t round = 0;                    // how often the list was cleared
  const void* open_arguments = nullptr;  // of the innermost call, which is the same call at each of its keys
  int64_t live_bytes = 0;                // storages made less storages freed
  uint64_t last_tick = 0;
  uint32_t number = 0;             // among the threads
  const int64_t system_thread;     // as ps shows it
  const uint64_t python_thread;    // threading.get_ident()
  std::atomic<bool> ended{false};  // the thread has ended
};

extern constinit thread_local ThreadTimeline* own_timeline __attribute__((tls_model("initial-exec")));
ThreadTimeline* make_own_timeline();

// This thread's, made if it has none; null without memory.
inline ThreadTimeline* thread_timeline() {
  if (own_timeline) [[likely]]
    return own_timeline;
  return make_own_timeline();
}

// A text that lives forever, one copy of each.
const char* shared_text(std::string_view text);

// One event from construction to destruction; none while nothing records.
class TimelineScope {
 public:
  TimelineScope() = default;
  TimelineScope(EventKind kind, const void* what, uint8_t flags = 0, uint64_t sequence = 0) {
    if (is_watched(kWatchCalls)) [[unlikely]]
      open(kind, what, flags, sequence);
  }
  ~TimelineScope() {
    if (timeline_) [[unlikely]]
      close();
  }
  TimelineScope(const TimelineScope&) = delete;
  TimelineScope& operator=(const TimelineScope&) = delete;

  TimelineEvent* event() { return event_; }
  ThreadTimeline* timeline() { return timeline_; }
  void open(EventKind kind, const void* what, uint8_t flags = 0, uint64_t sequence = 0) {
    if (ThreadTimeline* timeline = thread_timeline()) open(*timeline, kind, what, flags, sequence, 0);
  }
  [[gnu::always_inline]] void open(ThreadTimeline& timeline, EventKind kind, const void* what, uint8_t flags,
                                   uint64_t sequence, uint64_t at) {
    timeline.count_scopes(1);
    timeline_ = &timeline;
    event_ = timeline.begin(kind, what, sequence, flags, at);
  }

 private:
  void close() {
    if (event_) timeline_->end(*event_);
    timeline_->count_scopes(-1);
  }

  ThreadTimeline* timeline_ = nullptr;
  TimelineEvent* event_ = nullptr;
};

// As above; `text` outlives the session.
class TextScope : public TimelineScope {
 public:
  TextScope(EventKind kind, const char* text) : TimelineScope(kind, text, kTextFlag) {}
};

// Storages come and go; called where kWatchMemory was seen.
void record_storage(bool made, const void* storage, size_t nbytes);

}  // namespace pellucid
