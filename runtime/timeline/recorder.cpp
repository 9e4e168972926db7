#include "timeline/recorder.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <functional>
#include <mutex>
#include <string>
#include <unordered_set>
#include <utility>

#include "threads/fork_safe_mutex.h"
#include "timeline/threads.h"

namespace pellucid {

std::atomic<uint32_t> watched{0};
constinit thread_local ThreadTimeline* own_timeline __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {

struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

// Marks the timeline of a thread that has ended; the session that reads it frees it.
struct EndOfThread {
  ~EndOfThread() {
    if (ThreadTimeline* timeline = std::exchange(own_timeline, nullptr)) timeline->ended = true;
  }
};

}  // namespace

ThreadTimeline::ThreadTimeline()
    : system_thread(syscall(SYS_gettid)), python_thread(static_cast<uint64_t>(pthread_self())) {}

[[gnu::noinline]] ThreadTimeline* make_own_timeline() {
  static thread_local EndOfThread end;
  static_cast<void>(end);
  auto* made = new (std::nothrow) ThreadTimeline;
  if (!made || !made->events.warm_up()) {
    delete made;
    return nullptr;
  }
  register_timeline(made);
  return own_timeline = made;
}

FORK_SAFE static ForkSafeMutex mutex;

const char* shared_text(std::string_view text) {
  const std::lock_guard lock(mutex);
  static auto* texts = new std::unordered_set<std::string, TextHash, std::equal_to<>>;  // its nodes never move
  const auto found = texts->find(text);
  return (found != texts->end() ? found : texts->emplace(text).first)->c_str();
}

void record_storage(bool made, const void* storage, size_t nbytes) {
  ThreadTimeline* timeline = thread_timeline();
  if (!timeline) return;
  const int64_t change = made ? static_cast<int64_t>(nbytes) : -static_cast<int64_t>(nbytes);
  timeline->live_bytes += change;
  if (TimelineEvent* event = timeline->note(made ? EventKind::Make : EventKind::Free, storage)) event->bytes = change;
}

}  // namespace pellucid
