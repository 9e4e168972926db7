#include "timeline/session.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "threads/at_fork.h"
#include "threads/fork_safe_mutex.h"
#include "timeline/threads.h"

namespace pellucid {
namespace {

struct Session {
  uint32_t what;
  ClockReading begin;
  std::vector<size_t> sizes;  // of the lists that existed at its start: their later events are the session's
};

FORK_SAFE ForkSafeMutex mutex;
struct Registry {
  std::vector<ThreadTimeline*> timelines;
  std::map<uint64_t, Session> sessions;
  std::map<int64_t, ThreadTimeline*> processes;  // lists of other processes, by their number
  std::map<uint32_t, int> others;                // by bit: number of watchers besides sessions
  uint64_t last_session = 0;
  uint32_t last_thread = 0;
};

Registry& registry() {
  static auto* made = new Registry;
  return *made;
}

void publish(Registry& all) {
  uint32_t what = 0;
  for (const auto& [number, session] : all.sessions) what |= session.what | kWatchCalls;
  for (const auto& [bit, count] : all.others)
    if (count) what |= bit;
  watched.store(what, std::memory_order_relaxed);
}

// The child of a fork has nobody to read what its parent recorded.
void forget_sessions() {
  const std::lock_guard lock(mutex);
  Registry& all = registry();
  all.sessions.clear();
  publish(all);
}

// Before the first session: discards what earlier sessions left, and the lists of threads that have ended.
void clear_lists(Registry& all) {
  all.processes.clear();  // their lists are marked as ended
  std::erase_if(all.timelines, [](ThreadTimeline* timeline) {
    if (timeline->ended.load()) {
      delete timeline;
      return true;
    }
    if (timeline->scopes.load(std::memory_order_acquire)) return false;
    timeline->events.clear();
    timeline->facts.clear();
    timeline->lost = 0;
    timeline->last_tick = 0;
    timeline->open = kNoEvent;
    timeline->open_arguments = nullptr;
    timeline->line = 0;
    ++timeline->round;
    return false;
  });
}

uint64_t end_of(const TimelineEvent& event, uint64_t now) {
  const uint64_t end = __atomic_load_n(&event.end, __ATOMIC_RELAXED);
  return end && end <= now ? end : now;
}

// Copies the words of events; equal words once.
class FactsCopy {
 public:
  void move(const ThreadTimeline& from, TimelineEvent& event, std::vector<uint64_t>& to) {
    if (!event.facts) return;
    const size_t place = event.facts - 1, count = from.facts[place];
    const uint64_t* words = &from.facts[place];  // contiguous: appended at once
    const std::string_view key(reinterpret_cast<const char*>(words), count * sizeof(uint64_t));
    const auto [known, is_new] = places_.try_emplace(key, static_cast<uint32_t>(to.size()));
    if (is_new) to.insert(to.end(), words, words + count);
    event.facts = known->second;
  }

 private:
  std::unordered_map<std::string_view, uint32_t> places_;
};

// The events from `first`. Of ranges of another process, which arrive later, those that began in the session. An event
// without duration has the time of the one before it, which may be earlier than the session.
ThreadEvents events_of(const ThreadTimeline& timeline, bool is_own, size_t first, uint64_t begin, uint64_t now) {
  ThreadEvents result{timeline.system_thread, timeline.python_thread, {}, {0}};
  size_t size = timeline.events.size();
  while (size > first && !timeline.events[size - 1].begin) --size;  // still being written
  result.events.reserve(size - first);
  FactsCopy facts;
  for (size_t k = first; k < size; ++k) {
    if (!is_own && timeline.events[k].begin < begin) continue;
    TimelineEvent& event = result.events.emplace_back(timeline.events[k]);
    if (!event.end) event.bytes = 0;
    event.begin = std::max(event.begin, begin);
    event.end = std::max(end_of(event, now), begin);
    event.parent =
        event.parent == kNoEvent || event.parent < first ? kNoEvent : event.parent - static_cast<uint32_t>(first);
    facts.move(timeline, event, result.facts);
  }
  return result;
}

}  // namespace

void register_timeline(ThreadTimeline* timeline) {
  const std::lock_guard lock(mutex);
  Registry& all = registry();
  timeline->number = ++all.last_thread;
  all.timelines.push_back(timeline);
}

uint64_t start_session(uint32_t what) {
  ThreadTimeline* own = thread_timeline();  // before the first time stamp
  if (own && what & kWatchFacts) own->facts.warm_up();
  const std::lock_guard lock(mutex);
  Registry& all = registry();
  if (all.sessions.empty()) clear_lists(all);
  const uint64_t number = ++all.last_session;
  Session& session = all.sessions[number];
  session.what = what;
  for (const ThreadTimeline* timeline : all.timelines) session.sizes.push_back(timeline->events.size());
  session.begin = read_clocks();
  publish(all);
  return number;
}

SessionEvents stop_session(uint64_t number) {
  const std::lock_guard lock(mutex);
  Registry& all = registry();
  const auto found = all.sessions.find(number);
  if (found == all.sessions.end()) return {};
  SessionEvents result{found->second.begin, read_clocks(), {}, 0};
  std::vector<size_t> firsts = std::move(found->second.sizes);
  firsts.resize(all.timelines.size());
  all.sessions.erase(found);
  publish(all);
  std::map<const ThreadTimeline*, int64_t> process_of;
  for (const auto& [process, timeline] : all.processes) process_of[timeline] = process;
  for (size_t k = 0; k < all.timelines.size(); ++k) {
    const ThreadTimeline* timeline = all.timelines[k];
    result.lost += timeline->lost.load(std::memory_order_relaxed);
    const auto other = process_of.find(timeline);
    const bool is_own = other == process_of.end();
    ThreadEvents events = events_of(*timeline, is_own, firsts[k], result.begin.ticks, result.end.ticks);
    if (!is_own) events.system_thread = other->second, events.python_thread = static_cast<uint64_t>(other->second);
    if (!events.events.empty()) result.threads.push_back(std::move(events));
  }
  return result;
}

void add_range_of_process(int64_t process, const char* text, uint64_t begin, uint64_t end) {
  const std::lock_guard lock(mutex);
  Registry& all = registry();
  if (all.sessions.empty()) return;
  ThreadTimeline*& timeline = all.processes[process];
  if (!timeline) {
    timeline = new ThreadTimeline;
    timeline->number = ++all.last_thread;
    timeline->ended = true;  // freed with the lists of threads that have ended
    all.timelines.push_back(timeline);
  }
  const ClockReading first = all.sessions.begin()->second.begin, now = read_clocks();
  const double rate = static_cast<double>(now.ticks - first.ticks) /
                      static_cast<double>(std::max<uint64_t>(now.nanoseconds - first.nanoseconds, 1));
  const auto tick_of = [&](uint64_t nanoseconds) {
    return now.ticks - static_cast<uint64_t>(static_cast<double>(now.nanoseconds - nanoseconds) * rate);
  };
  TimelineEvent* event = timeline->begin(EventKind::Range, text, 0, kTextFlag, tick_of(begin));
  timeline->open = kNoEvent;
  if (event) event->end = std::max(event->begin, tick_of(end));
}

void watch_more(uint32_t what) {
  const std::lock_guard lock(mutex);
  Registry& all = registry();
  ++all.others[what];
  publish(all);
}

void watch_less(uint32_t what) {
  const std::lock_guard lock(mutex);
  Registry& all = registry();
  --all.others[what];
  publish(all);
}

void forget_sessions_at_forks() { at_fork(nullptr, nullptr, forget_sessions); }

}  // namespace pellucid
