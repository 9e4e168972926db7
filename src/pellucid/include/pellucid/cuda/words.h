// CUDA C++'s words of one thread: its numbers, barriers, warps, atomics.
//
// Lanes of a warp are not in step here: what GPUs leave open (which lanes run together, in which order threads do)
// depends on the emulator's order. Read next: types.h.
#pragma once

#include <cassert>
#include <type_traits>

#include "pellucid/cuda/machine.h"
#include "pellucid/torch/numbers.h"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
#define __shared__ thread_local  // the library's thread-local memory is the block's shared memory
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(...)

#define threadIdx (::pellucid::cuda::here().thread)
#define blockIdx (::pellucid::cuda::here().block)
#define blockDim (::pellucid::cuda::here().threads)
#define gridDim (::pellucid::cuda::here().blocks)
constexpr int warpSize = 32;

#undef assert
#define assert(condition) \
  ((condition) ? static_cast<void>(0) : ::pellucid::cuda::fail("fails an assertion: " #condition))

namespace pellucid {
namespace cuda {

template <class T>
struct Given {
  using type = T;
};

PELLUCID_OWN inline void barrier() {
  Thread* const self = running;
  self->machine->barrier(self->machine);
  running = self;  // others ran meanwhile
}

// The words of the lanes in `mask`, which all call it in one function. Returns those that are there: a block may end in
// its warp, and threads may have ended.
PELLUCID_OWN inline unsigned gather(const char* function, unsigned mask, uint64_t word, uint64_t* words,
                                    bool orders = false) {
  Thread* const self = running;
  if (!(mask >> lane() & 1)) fail("calls a function of a warp whose mask does not have its lane");
  const unsigned found = self->machine->gather(self->machine, function, word, mask, orders, words);
  running = self;
  return found;
}

template <class T>
PELLUCID_OWN inline uint64_t word_of(T value) {
  static_assert(sizeof(T) <= 8, "lanes exchange values of 8 bytes at most");
  uint64_t word = 0;
  std::memcpy(&word, &value, sizeof value);
  return word;
}
template <class T>
PELLUCID_OWN inline T value_of(uint64_t word) {
  T value;
  std::memcpy(&value, &word, sizeof value);
  return value;
}

template <class T>
PELLUCID_OWN inline T shuffle(const char* function, unsigned mask, T value, unsigned from) {
  uint64_t words[kWarp];
  const unsigned found = gather(function, mask, word_of(value), words);
  if (!(mask >> from & 1)) fail("shuffles from a lane that the mask does not have");
  if (!(found >> from & 1)) fail("shuffles from a lane that is not there");
  return value_of<T>(words[from]);
}

// Folds the values of the lanes in `mask`.
template <class T, class F>
PELLUCID_OWN inline T fold(const char* function, unsigned mask, T value, F combine) {
  uint64_t words[kWarp];
  const unsigned found = gather(function, mask, word_of(value), words);
  bool is_first = true;
  for (unsigned k = 0; k < kWarp; ++k) {
    if (!(found >> k & 1)) continue;
    const T other = value_of<T>(words[k]);
    value = is_first ? other : static_cast<T>(combine(value, other));
    is_first = false;
  }
  return value;
}

PELLUCID_OWN inline unsigned ballot(const char* function, unsigned mask, bool vote) {
  return fold(function, mask, unsigned(vote) << lane(), [](unsigned a, unsigned b) { return a | b; });
}

template <class T, class... Types>
constexpr bool is_one_of = (std::is_same_v<T, Types> || ...);

template <class T, class F>
PELLUCID_OWN inline T update(T* at, F change) {
  touch(at, sizeof(T), true, true);
  const T old = *at;
  *at = static_cast<T>(change(old));
  return old;
}

PELLUCID_HIDDEN inline int votes = 0;

PELLUCID_OWN inline int count_in_block(bool vote) {
  votes += vote;
  barrier();
  const int found = votes;
  barrier();
  votes = 0;
  barrier();
  return found;
}

}  // namespace cuda
}  // namespace pellucid

PELLUCID_OWN inline void __syncthreads() { pellucid::cuda::barrier(); }
PELLUCID_OWN inline int __syncthreads_count(int vote) { return pellucid::cuda::count_in_block(vote); }
PELLUCID_OWN inline int __syncthreads_or(int vote) { return pellucid::cuda::count_in_block(vote) > 0; }
PELLUCID_OWN inline int __syncthreads_and(int vote) { return pellucid::cuda::count_in_block(!vote) == 0; }
PELLUCID_OWN inline void __syncwarp(unsigned mask = 0xffffffff) {
  uint64_t words[pellucid::kWarp];
  pellucid::cuda::gather("__syncwarp", mask, 0, words, true);
}
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}
[[noreturn]] PELLUCID_OWN inline void __trap() { pellucid::cuda::fail("calls __trap()"); }

template <class T>
PELLUCID_OWN inline T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
  const unsigned first = pellucid::cuda::lane() & ~unsigned(width - 1);
  return pellucid::cuda::shuffle("__shfl_sync", mask, value, first + (unsigned(from) & unsigned(width - 1)));
}
template <class T>
PELLUCID_OWN inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const unsigned lane = pellucid::cuda::lane(), first = lane & ~unsigned(width - 1);
  return pellucid::cuda::shuffle("__shfl_up_sync", mask, value, lane >= first + delta ? lane - delta : lane);
}
template <class T>
PELLUCID_OWN inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const unsigned lane = pellucid::cuda::lane(), end = (lane & ~unsigned(width - 1)) + unsigned(width);
  return pellucid::cuda::shuffle("__shfl_down_sync", mask, value, lane + delta < end ? lane + delta : lane);
}
template <class T>
PELLUCID_OWN inline T __shfl_xor_sync(unsigned mask, T value, int differs, int width = 32) {
  const unsigned lane = pellucid::cuda::lane(), end = (lane & ~unsigned(width - 1)) + unsigned(width);
  const unsigned from = lane ^ unsigned(differs);
  return pellucid::cuda::shuffle("__shfl_xor_sync", mask, value, from < end ? from : lane);
}

PELLUCID_OWN inline unsigned __ballot_sync(unsigned mask, int vote) {
  return pellucid::cuda::ballot("__ballot_sync", mask, vote);
}
PELLUCID_OWN inline int __any_sync(unsigned mask, int vote) {
  return pellucid::cuda::ballot("__any_sync", mask, vote) != 0;
}
PELLUCID_OWN inline int __all_sync(unsigned mask, int vote) {
  return pellucid::cuda::ballot("__all_sync", mask, !vote) == 0;
}
template <class T>
PELLUCID_OWN inline unsigned __match_any_sync(unsigned mask, T value) {
  uint64_t words[pellucid::kWarp];
  const uint64_t own = pellucid::cuda::word_of(value);
  const unsigned found = pellucid::cuda::gather("__match_any_sync", mask, own, words);
  unsigned equal = 0;
  for (unsigned k = 0; k < pellucid::kWarp; ++k) equal |= unsigned(found >> k & 1 && words[k] == own) << k;
  return equal;
}
// Lanes that happen to run together: here each runs alone.
PELLUCID_OWN inline unsigned __activemask() { return 1u << pellucid::cuda::lane(); }

#define PELLUCID_FOLD(name, expression)                                           \
  template <class T>                                                              \
  PELLUCID_OWN inline T __reduce_##name##_sync(unsigned mask, T value) {          \
    const auto combine = [](T a, T b) { return expression; };                     \
    return pellucid::cuda::fold("__reduce_" #name "_sync", mask, value, combine); \
  }
PELLUCID_FOLD(add, a + b)
PELLUCID_FOLD(min, b < a ? b : a)
PELLUCID_FOLD(max, a < b ? b : a)
PELLUCID_FOLD(and, a& b)
PELLUCID_FOLD(or, a | b)
PELLUCID_FOLD(xor, a ^ b)
#undef PELLUCID_FOLD

// The types of an atomic function are those that GPUs have it for.
#define PELLUCID_TAKES(name, ...)                                               \
  static_assert(pellucid::cuda::is_one_of<T, __VA_ARGS__>, "CUDA has no " #name \
                                                           " of this type; it " \
                                                           "takes " #__VA_ARGS__)
#define PELLUCID_UPDATE(name, expression, ...)                                               \
  template <class T>                                                                         \
  PELLUCID_OWN inline T atomic##name(T* at, typename pellucid::cuda::Given<T>::type value) { \
    PELLUCID_TAKES(atomic##name, __VA_ARGS__);                                               \
    return pellucid::cuda::update(at, [value](T old) { return expression; });                \
  }
PELLUCID_UPDATE(Add, old + value, int, unsigned, unsigned long long, float, double, c10::Half, c10::BFloat16)
PELLUCID_UPDATE(Sub, old - value, int, unsigned)
PELLUCID_UPDATE(Exch, (static_cast<void>(old), value), int, unsigned, unsigned long long, float)
PELLUCID_UPDATE(Min, value < old ? value : old, int, unsigned, long long, unsigned long long)
PELLUCID_UPDATE(Max, old < value ? value : old, int, unsigned, long long, unsigned long long)
PELLUCID_UPDATE(And, old& value, int, unsigned, unsigned long long)
PELLUCID_UPDATE(Or, old | value, int, unsigned, unsigned long long)
PELLUCID_UPDATE(Xor, old ^ value, int, unsigned, unsigned long long)
PELLUCID_UPDATE(Inc, old >= value ? 0 : old + 1, unsigned)
PELLUCID_UPDATE(Dec, old == 0 || old > value ? value : old - 1, unsigned)
#undef PELLUCID_UPDATE
template <class T>
PELLUCID_OWN inline T atomicCAS(T* at, typename pellucid::cuda::Given<T>::type known,
                                typename pellucid::cuda::Given<T>::type value) {
  PELLUCID_TAKES(atomicCAS, unsigned short, int, unsigned, unsigned long long);
  return pellucid::cuda::update(at, [known, value](T old) { return old == known ? value : old; });
}
#undef PELLUCID_TAKES
