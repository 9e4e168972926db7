#include "core/thread_pool.h"

#include <immintrin.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/hooks.h"
#include "core/thread_state.h"
#include "threads/at_fork.h"
#include "timeline/recorder.h"

namespace pellucid {
namespace {

constexpr int64_t kNoBlock = std::numeric_limits<int64_t>::max();
constexpr long kMostThreads = 4096;  // the most that the environment may request

// How long a waiting thread spins before it sleeps: about the time between two parallel ops of a hot loop, spent
// in Python or in serial ops. Waking a thread takes as long, and a worker that is always late never helps. With
// more threads than processors, spinning would delay working threads.
using Clock = std::chrono::steady_clock;
constexpr Clock::duration kAwake = std::chrono::microseconds(1000),
                          kAwakeOversubscribed = std::chrono::microseconds(20);
constexpr int kPausesPerLook = 32;  // between reads of the clock

std::atomic<uint64_t> num_forks{0};  // forks that led to this process

struct Job {
  Job(BlockFunction function, void* context, int64_t num_blocks)
      : function(function), context(context), num_blocks(num_blocks) {}

  const BlockFunction function;
  void* const context;
  const int64_t num_blocks;
  const unsigned floating_point_mode = _mm_getcsr();
  std::atomic<int64_t> next{0};
  std::atomic<int64_t> failed{kNoBlock};  // the lowest block that failed
  std::mutex failure_mutex;
  int64_t status = 0;
  std::exception_ptr exception;
  const uint64_t forks = num_forks.load(std::memory_order_relaxed);
  bool is_shared = false;  // with a pool's workers
  TimelineEvent around{};  // the event that contains the region, while shares are recorded

  // True in the child of a fork that a signal handler made: the workers' blocks are lost, as is every lock holder.
  bool lost_workers() const { return is_shared && num_forks.load(std::memory_order_relaxed) != forks; }

  void record(int64_t block, int64_t block_status, std::exception_ptr block_exception) {
    std::lock_guard lock(failure_mutex);
    if (block >= failed.load(std::memory_order_relaxed)) return;
    failed.store(block, std::memory_order_relaxed);
    status = block_status;
    exception = std::move(block_exception);
  }

  // Once a block has failed, later blocks are skipped; earlier ones still run, so that the lowest failure is
  // found. `ask` throws if the user wants to stop; only the calling thread passes it. It may run arbitrary user
  // code: a signal handler that calls ops, or forks.
  void work(void (*ask)()) {
    for (int64_t block; (block = next.fetch_add(1, std::memory_order_relaxed)) < num_blocks;) {
      if (block > failed.load(std::memory_order_relaxed)) return;
      try {
        if (ask) ask();
        if (lost_workers()) return;
        if (const int64_t block_status = function(context, block)) record(block, block_status, nullptr);
      } catch (...) {
        if (lost_workers()) return;
        record(block, 0, std::current_exception());
      }
    }
  }
};

// A thread's share of a job in the timeline.
class ShareScope {
 public:
  ShareScope(const Job& job, uint8_t flags) {
    if (!job.around.what) [[likely]]
      return;
    scope_.open(EventKind::Share, job.around.what, static_cast<uint8_t>(flags | (job.around.flags & kTextFlag)), 0);
    if (TimelineEvent* event = scope_.event()) event->detail = static_cast<uint16_t>(job.around.kind);
  }

 private:
  TimelineScope scope_;
};

void note_region(Job& job) {
  const ThreadTimeline* timeline = thread_timeline();
  if (timeline && timeline->open != kNoEvent) job.around = timeline->events[timeline->open];
}

int available_processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

// The first number of OpenMP's variable, with which concurrent programs divide a machine.
int default_threads() {
  if (const char* given = std::getenv("OMP_NUM_THREADS")) {
    char* end;
    const long count = std::strtol(given, &end, 10);
    if (end != given && (*end == '\0' || *end == ',') && count > 0 && count <= kMostThreads)
      return static_cast<int>(count);
  }
  return available_processors();
}

// Spins until `done()`, but no longer than `limit`; returns the last result of `done`.
template <class Done>
bool pause_until(Clock::duration limit, Done&& done) {
  const Clock::time_point end = Clock::now() + limit;
  do {
    for (int pause = 0; pause < kPausesPerLook; ++pause) {
      if (done()) return true;
      _mm_pause();
    }
  } while (Clock::now() < end);
  return false;
}

class Pool {
 public:
  // Starts fewer workers if the system refuses threads.
  explicit Pool(int wanted) : wanted_(wanted), awake_(wanted < available_processors() ? kAwake : kAwakeOversubscribed) {
    threads_.reserve(static_cast<size_t>(wanted));
    try {
      for (int i = 0; i < wanted; ++i) threads_.emplace_back([this] { serve(); });
    } catch (const std::system_error&) { is_short_ = true; }
  }
  ~Pool() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
      generation_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  bool serves(int wanted) const { return wanted_ == wanted; }

  // Warns once if there are fewer threads than requested; the warning may throw.
  void warn_of_shortage() {
    if (std::exchange(is_short_, false))
      warn("the system refused a thread: computing on %zu threads instead of %d", threads_.size() + 1, wanted_ + 1);
  }

  void run(Job& job) {
    job.is_shared = true;
    {
      std::lock_guard lock(mutex_);
      job_ = &job;
      generation_.fetch_add(1, std::memory_order_release);
    }
    if (sleeping_.load(std::memory_order_acquire)) wake_.notify_all();
    {
      const ShareScope event(job, kOwnerFlag);
      job.work(core_hooks.check_interrupt);
    }
    if (job.lost_workers())
      raise(ErrorKind::Runtime,
            "the process was forked in the middle of a parallel computation, which only the parent "
            "can finish; fork outside of signal handlers");
    {
      std::lock_guard lock(mutex_);
      job_ = nullptr;  // do not wait for a worker that has not joined yet: it may still be asleep
    }
    const auto is_alone = [&] { return active_.load(std::memory_order_acquire) == 0; };
    if (is_alone() || pause_until(awake_, is_alone)) return;
    while (!is_alone()) std::this_thread::yield();
  }

 private:
  void serve() {
    thread_state.in_parallel_region = true;
    for (uint64_t seen = 0;;) {
      seen = wait_for_job(seen);
      Job* job;
      {
        std::lock_guard lock(mutex_);
        if (stopping_) return;
        if (!(job = job_)) continue;
        active_.fetch_add(1, std::memory_order_relaxed);
      }
      _mm_setcsr(job->floating_point_mode);
      {
        const ShareScope event(*job, 0);
        job->work(nullptr);
      }
      active_.fetch_sub(1, std::memory_order_release);
    }
  }

  uint64_t wait_for_job(uint64_t seen) {
    const auto generation = [&] { return generation_.load(std::memory_order_acquire); };
    if (pause_until(awake_, [&] { return generation() != seen; })) return generation();
    std::unique_lock lock(mutex_);
    sleeping_.fetch_add(1, std::memory_order_relaxed);
    wake_.wait(lock, [&] { return generation() != seen; });
    sleeping_.fetch_sub(1, std::memory_order_relaxed);
    return generation();
  }

  const int wanted_;
  const Clock::duration awake_;
  bool is_short_ = false;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<uint64_t> generation_{0};
  std::atomic<int> active_{0};  // workers inside the job
  std::atomic<int> sleeping_{0};
  Job* job_ = nullptr;
  bool stopping_ = false;
};

// Behind pointers, so that the child of a fork can drop locks and threads that it does not have. Never destroyed:
// workers may outlive static destructors.
struct Shared {
  // Held by the caller whose job runs, which may run signal handlers meanwhile. Only ever try-locked, because the
  // holder may need the interpreter lock of a caller that would wait.
  std::mutex busy;
  Pool* pool = nullptr;
  std::atomic<int> wanted{default_threads()};
};
std::atomic<Shared*> shared_state{nullptr};

void forget_threads_after_fork() {
  if (!shared_state.load(std::memory_order_acquire)) return;
  auto* fresh = new Shared;  // the parent's is leaked on purpose: its locks are in an unknown state
  fresh->wanted = 1;
  shared_state.store(fresh, std::memory_order_release);
  num_forks.fetch_add(1, std::memory_order_relaxed);
}

Shared& shared() {
  if (Shared* existing = shared_state.load(std::memory_order_acquire)) [[likely]]
    return *existing;
  auto fresh = std::make_unique<Shared>();
  Shared* first = nullptr;  // another thread may be faster
  return *(shared_state.compare_exchange_strong(first, fresh.get()) ? fresh.release() : first);
}

// The pool with the requested number of threads, for the holder of `busy`; null for a single thread.
Pool* fitting_pool(Shared& state) {
  const int workers = state.wanted.load(std::memory_order_relaxed) - 1;
  if (state.pool && !state.pool->serves(workers)) delete std::exchange(state.pool, nullptr);
  if (!state.pool && workers > 0) state.pool = new Pool(workers);
  return state.pool;
}

class ParallelRegion {
 public:
  ParallelRegion() { thread_state.in_parallel_region = true; }
  ~ParallelRegion() { thread_state.in_parallel_region = false; }
};

int64_t finish(Job& job) {
  if (job.exception) std::rethrow_exception(job.exception);
  return job.status;
}

}  // namespace

int num_threads() { return shared().wanted.load(std::memory_order_relaxed); }

void set_num_threads(int count) {
  if (count < 1) raise(ErrorKind::Runtime, "set_num_threads expects a positive number of threads; got %d", count);
  Shared& state = shared();
  state.wanted.store(count, std::memory_order_relaxed);
  if (thread_state.in_parallel_region || !state.busy.try_lock()) return;  // the next job resizes the pool
  std::lock_guard lock(state.busy, std::adopt_lock);
  if (state.pool && !state.pool->serves(count - 1)) delete std::exchange(state.pool, nullptr);
}

int64_t run_blocks(int64_t num_blocks, BlockFunction function, void* context) {
  Job job(function, context, num_blocks);
  Shared& state = shared();
  const bool alone =
      num_blocks <= 1 || thread_state.in_parallel_region || state.wanted.load(std::memory_order_relaxed) == 1;
  if (alone || !state.busy.try_lock()) {
    job.work(thread_state.in_parallel_region ? nullptr : core_hooks.check_interrupt);
    return finish(job);
  }
  if (is_watched(kWatchSteps)) [[unlikely]]
    note_region(job);
  {
    std::lock_guard lock(state.busy, std::adopt_lock);
    ParallelRegion region;
    if (Pool* pool = fitting_pool(state)) {
      pool->warn_of_shortage();
      pool->run(job);
    } else {
      job.work(core_hooks.check_interrupt);
    }
  }
  return finish(job);
}

void forget_threads_at_forks() { at_fork(nullptr, nullptr, forget_threads_after_fork); }

}  // namespace pellucid
