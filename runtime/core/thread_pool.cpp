#include "core/thread_pool.h"

#include <immintrin.h>
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <condition_variable>
#include <exception>
#include <algorithm>
#include <limits>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/hooks.h"
#include "core/thread_state.h"

namespace pellucid {
namespace {

constexpr int64_t kNoBlock = std::numeric_limits<int64_t>::max();
constexpr int kSpins = 2000;  // about 20 microseconds: the gap between two ops of a hot loop

struct Job {
  Job(BlockFunction function, void* context, int64_t num_blocks)
      : function(function), context(context), num_blocks(num_blocks) {}

  const BlockFunction function;
  void* const context;
  const int64_t num_blocks;
  const unsigned floating_point_mode = _mm_getcsr();
  std::atomic<int64_t> next{0};
  std::atomic<int64_t> failed{kNoBlock};  // lowest block that did not end well
  std::mutex failure_mutex;
  int64_t status = 0;
  std::exception_ptr exception;

  void record(int64_t block, int64_t block_status, std::exception_ptr block_exception) {
    std::lock_guard lock(failure_mutex);
    if (block >= failed.load(std::memory_order_relaxed)) return;
    failed.store(block, std::memory_order_relaxed);
    status = block_status;
    exception = std::move(block_exception);
  }

  // Later blocks of a failed job are skipped; earlier ones still run, so the lowest failure is found.
  // `ask` throws when the user wants the computation to stop; for the calling thread alone.
  void work(void (*ask)()) {
    for (int64_t block; (block = next.fetch_add(1, std::memory_order_relaxed)) < num_blocks;) {
      if (block > failed.load(std::memory_order_relaxed)) return;
      try {
        if (ask) ask();
        if (const int64_t block_status = function(context, block)) record(block, block_status, nullptr);
      } catch (...) {
        record(block, 0, std::current_exception());
      }
    }
  }
};

int available_processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

class Pool {
 public:
  explicit Pool(int workers) {
    for (int i = 0; i < workers; ++i) threads_.emplace_back([this] { serve(); });
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

  int workers() const { return static_cast<int>(threads_.size()); }

  void run(Job& job) {
    {
      std::lock_guard lock(mutex_);
      job_ = &job;
      generation_.fetch_add(1, std::memory_order_release);
    }
    if (sleeping_.load(std::memory_order_acquire)) wake_.notify_all();
    job.work(core_hooks.check_interrupt);
    {
      std::lock_guard lock(mutex_);
      job_ = nullptr;   // a worker that has not come by now is not waited for: it may still be asleep
    }
    for (int spin = 0; active_.load(std::memory_order_acquire) != 0; ++spin) {
      if (spin < kSpins) _mm_pause();
      else std::this_thread::yield();
    }
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
      job->work(nullptr);
      active_.fetch_sub(1, std::memory_order_release);
    }
  }

  uint64_t wait_for_job(uint64_t seen) {
    for (int spin = 0; spin < kSpins; ++spin) {
      const uint64_t generation = generation_.load(std::memory_order_acquire);
      if (generation != seen) return generation;
      _mm_pause();
    }
    std::unique_lock lock(mutex_);
    sleeping_.fetch_add(1, std::memory_order_relaxed);
    wake_.wait(lock, [&] { return generation_.load(std::memory_order_acquire) != seen; });
    sleeping_.fetch_sub(1, std::memory_order_relaxed);
    return generation_.load(std::memory_order_acquire);
  }

  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<uint64_t> generation_{0};
  std::atomic<int> active_{0};   // workers inside the job
  std::atomic<int> sleeping_{0};
  Job* job_ = nullptr;
  bool stopping_ = false;
};

// Behind pointers, so that the child of a fork can drop locks and threads it does not have.
// Never destroyed: workers may outlive static destructors.
struct Shared {
  std::mutex busy;          // held by the caller whose job runs
  Pool* pool = nullptr;
  std::atomic<int> wanted{available_processors()};
};
std::atomic<Shared*> shared_state{nullptr};

void forget_threads_after_fork() {
  auto* fresh = new Shared;  // the parent's is leaked on purpose: its locks are in an unknown state
  fresh->wanted = 1;
  shared_state.store(fresh, std::memory_order_release);
  thread_state.in_parallel_region = false;
}

Shared& shared() {
  if (Shared* existing = shared_state.load(std::memory_order_acquire)) [[likely]] return *existing;
  static std::once_flag once;
  std::call_once(once, [] {
    shared_state.store(new Shared, std::memory_order_release);
    pthread_atfork(nullptr, nullptr, forget_threads_after_fork);
  });
  return *shared_state.load(std::memory_order_acquire);
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
  std::lock_guard lock(state.busy);
  state.wanted.store(count, std::memory_order_relaxed);
  if (state.pool && state.pool->workers() != count - 1) delete std::exchange(state.pool, nullptr);
}

int64_t run_blocks(int64_t num_blocks, BlockFunction function, void* context) {
  Job job(function, context, num_blocks);
  Shared& state = shared();
  const bool alone = num_blocks <= 1 || thread_state.in_parallel_region ||
                     state.wanted.load(std::memory_order_relaxed) == 1;
  if (alone || !state.busy.try_lock()) {
    job.work(thread_state.in_parallel_region ? nullptr : core_hooks.check_interrupt);
    return finish(job);
  }
  {
    std::lock_guard lock(state.busy, std::adopt_lock);
    ParallelRegion region;
    const int workers = state.wanted.load(std::memory_order_relaxed) - 1;
    if (!state.pool && workers > 0) state.pool = new Pool(workers);
    if (state.pool) state.pool->run(job);
    else job.work(core_hooks.check_interrupt);
  }
  return finish(job);
}

}  // namespace pellucid
