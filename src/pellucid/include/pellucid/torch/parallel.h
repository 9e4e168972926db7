// at::parallel_for: a range in blocks, on the threads of the process.
//
// The blocks depend on the range and the grain alone, and are at most 64. Bodies run without the interpreter lock; ops
// that they call take it. A nested call runs in the calling thread.
#pragma once

#include <algorithm>
#include <exception>
#include <mutex>

#include "pellucid/torch/calls.h"

namespace at {

namespace internal {
constexpr int64_t GRAIN_SIZE = 32768;
}
inline int64_t divup(int64_t x, int64_t y) { return (x + y - 1) / y; }

namespace detail {

inline int& parallel_depth() {
  static thread_local int depth = 0;
  return depth;
}

inline int& thread_number() {
  static thread_local int number = 0;
  return number;
}

inline int64_t block_size(int64_t count, int64_t grain) { return std::max<int64_t>({grain, (count + 63) / 64, 1}); }

// Gives up the interpreter lock, if this thread has it.
class Unlocked {
 public:
  Unlocked() : state_(PyGILState_Check() ? PyEval_SaveThread() : nullptr) {}
  ~Unlocked() {
    if (state_) PyEval_RestoreThread(state_);
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* const state_;
};

}  // namespace detail

inline bool in_parallel_region() { return detail::parallel_depth() > 0; }
inline int get_num_threads() { return detail::table().num_threads(); }
// Of the threads that run a parallel_for, from 0: for buffers of each thread.
inline int get_thread_num() { return detail::thread_number(); }
inline void set_num_threads(int count) {
  const c10::detail::Lock lock;
  PyObject* const module = PyImport_ImportModule("pellucid");
  PyObject* const done = module ? PyObject_CallMethod(module, "set_num_threads", "i", count) : nullptr;
  Py_XDECREF(module);
  if (!done) throw c10::PythonError();
  Py_DECREF(done);
}
inline void init_num_threads() {}
namespace internal {
inline void lazy_init_num_threads() {}
}  // namespace internal

template <class Body>
void parallel_for(int64_t begin, int64_t end, int64_t grain, const Body& body) {
  if (begin >= end) return;
  grain = detail::block_size(end - begin, grain);
  const int64_t blocks = (end - begin + grain - 1) / grain;
  if (blocks == 1 || in_parallel_region() || get_num_threads() == 1) return body(begin, end);
  struct Call {
    const Body& body;
    int64_t begin, end, grain;
    std::mutex mutex;
    std::exception_ptr error;
    std::vector<bool> is_used;  // by number of a thread: at most get_num_threads() run at once
  } call{body, begin, end, grain, {}, nullptr, std::vector<bool>(static_cast<size_t>(get_num_threads()))};
  const auto run = [](void* context, int64_t block) {
    Call& given = *static_cast<Call*>(context);
    ++detail::parallel_depth();
    {
      const std::lock_guard<std::mutex> lock(given.mutex);
      const auto unused = std::find(given.is_used.begin(), given.is_used.end(), false);
      detail::thread_number() = static_cast<int>(unused - given.is_used.begin());
      if (unused != given.is_used.end()) *unused = true;
    }
    try {
      const int64_t first = given.begin + block * given.grain;
      given.body(first, std::min(first + given.grain, given.end));
    } catch (...) {
      const std::lock_guard<std::mutex> lock(given.mutex);
      if (!given.error) given.error = std::current_exception();
    }
    --detail::parallel_depth();
    const std::lock_guard<std::mutex> lock(given.mutex);
    const auto number = static_cast<size_t>(std::exchange(detail::thread_number(), 0));
    if (number < given.is_used.size()) given.is_used[number] = false;
  };
  {
    const detail::Unlocked unlocked;
    detail::table().parallel(blocks, run, &call);
  }
  if (call.error) std::rethrow_exception(call.error);
}

// Sums of blocks, combined in order.
template <class T, class Body, class Combine>
T parallel_reduce(int64_t begin, int64_t end, int64_t grain, const T identity, const Body& body,
                  const Combine& combine) {
  if (begin >= end) return identity;
  grain = detail::block_size(end - begin, grain);
  std::vector<T> parts(static_cast<size_t>((end - begin + grain - 1) / grain), identity);
  parallel_for(0, static_cast<int64_t>(parts.size()), 1, [&](int64_t first, int64_t last) {
    for (int64_t k = first; k < last; ++k)
      parts[static_cast<size_t>(k)] = body(begin + k * grain, std::min(begin + (k + 1) * grain, end), identity);
  });
  T total = identity;
  for (const T& part : parts) total = combine(total, part);
  return total;
}

}  // namespace at
