// Recording: a thread's timeline, and scopes that write its events.
//
// Scopes test the word of watch.h and do nothing else while nothing records. A thread writes its own list without
// locks; the list is made when the thread writes its first event. Sessions (session.h) read the lists.
#pragma once

#include <string_view>

#include "timeline/clock.h"
#include "timeline/events.h"
#include "timeline/watch.h"

namespace pellucid {

class ThreadTimeline {
 public:
  ThreadTimeline();

  // Null if the list is full; the event is counted as lost. `at` is the start time; 0: now.
  [[gnu::always_inline]] TimelineEvent* begin(EventKind kind, const void* what, uint64_t sequence = 0,
                                              uint8_t flags = 0, uint64_t at = 0, uint64_t extra = 0) {
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
              .extra = extra,
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
  // An event without duration, at the time of the latest start or end.
  TimelineEvent* note(EventKind kind, const void* what) {
    const uint32_t around = open;
    TimelineEvent* event = begin(kind, what, 0, 0, last_tick ? last_tick : ticks());
    open = around;
    if (event) event->end = event->begin;
    return event;
  }
  // A scope holds an event of the list, which must not be cleared meanwhile. Only the owner calls this, so no
  // locked instruction is needed.
  void count_scopes(int change) {
    const int count = static_cast<int>(scopes.load(std::memory_order_relaxed)) + change;
    scopes.store(static_cast<uint32_t>(count), std::memory_order_release);
  }

  ChunkedList<TimelineEvent, 14, 1024> events;  // 1 MiB per chunk
  ChunkedList<uint64_t, 17, 1024> facts;
  std::atomic<uint64_t> lost{0};
  std::atomic<uint32_t> scopes{0};
  uint32_t open = kNoEvent;
  uint32_t line = 0;                     // the thread's current Python line
  uint32_t round = 0;                    // how often the list has been cleared
  const void* open_arguments = nullptr;  // of the innermost call, to recognise the same call at each of its keys
  int64_t live_bytes = 0;                // bytes of storages made minus bytes of storages freed
  uint64_t last_tick = 0;
  uint32_t number = 0;             // among the threads
  const int64_t system_thread;     // as shown by ps
  const uint64_t python_thread;    // threading.get_ident()
  std::atomic<bool> ended{false};  // the thread has ended
};

extern constinit thread_local ThreadTimeline* own_timeline __attribute__((tls_model("initial-exec")));
ThreadTimeline* make_own_timeline();

// This thread's timeline, made if absent; null if memory is exhausted.
inline ThreadTimeline* thread_timeline() {
  if (own_timeline) [[likely]]
    return own_timeline;
  return make_own_timeline();
}

// Interns a text: one copy, which lives forever.
const char* shared_text(std::string_view text);

// An event that spans construction to destruction; does nothing while nothing records.
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
                                   uint64_t sequence, uint64_t at, uint64_t extra = 0) {
    timeline.count_scopes(1);
    timeline_ = &timeline;
    event_ = timeline.begin(kind, what, sequence, flags, at, extra);
  }

 private:
  void close() {
    if (event_) timeline_->end(*event_);
    timeline_->count_scopes(-1);
  }

  ThreadTimeline* timeline_ = nullptr;
  TimelineEvent* event_ = nullptr;
};

// The same with a text, which must outlive the session.
class TextScope : public TimelineScope {
 public:
  TextScope(EventKind kind, const char* text) : TimelineScope(kind, text, kTextFlag) {}
};

// Records that a storage was made or freed; called when kWatchMemory is set.
void record_storage(bool made, const void* storage, size_t nbytes);

}  // namespace pellucid
