// The callbacks of GPU kernels that run on the CPU.
//
// Generated from src/pellucid_compiler/abi/grid.py by tools/build.py: change it there.
// clang-format off
#pragma once

#include <cstddef>
#include <cstdint>

namespace pellucid {
constexpr int64_t kReadGlobal = 0;
constexpr int64_t kWriteGlobal = 1;
constexpr int64_t kReadShared = 2;
constexpr int64_t kWriteShared = 3;
constexpr int64_t kWarp = 32;  // threads that exchange words
// What an emulated kernel receives besides its arguments.
struct GridMachine {
  int64_t thread;  // its number in its block
  int64_t block;
  int64_t blocks;
  void (*barrier)(GridMachine*);
  uint64_t (*shuffle)(GridMachine*, uint64_t word, int64_t mask);  // the word of the lane whose number differs in `mask`
  void (*touch)(GridMachine*, char* address, int64_t nbytes, int64_t access);  // called before an access
  char* shared;  // the block's shared memory
  uint32_t (*gather)(GridMachine*, const char* function, uint64_t word, uint32_t lanes, bool orders, uint64_t* words);  // the words of `lanes`, which all call it in one function; `orders` accesses of shared memory; returns the lanes that are there
  void (*update)(GridMachine*, char* address, int64_t nbytes);  // called before an atomic in shared memory
  void (*fail)(GridMachine*, const char* what);  // ends the run
  void (*copy)(GridMachine*, char* to, const char* from, int64_t nbytes, int64_t used);  // starts a copy to shared memory; bytes from `used` on become zeros
  void (*wait_copies)(GridMachine*);  // ends the thread's copies
  void (*load_matrices)(GridMachine*, char* row, uint32_t* words, int64_t transposed);  // a word of each of four matrices, whose rows the lanes give
  void (*multiply_matrices)(GridMachine*, uint32_t* words, int64_t kind);  // words: four of A, two of B, four of the sums, which are replaced
};
static_assert(offsetof(GridMachine, thread) == 0);
static_assert(offsetof(GridMachine, block) == 8);
static_assert(offsetof(GridMachine, blocks) == 16);
static_assert(offsetof(GridMachine, barrier) == 24);
static_assert(offsetof(GridMachine, shuffle) == 32);
static_assert(offsetof(GridMachine, touch) == 40);
static_assert(offsetof(GridMachine, shared) == 48);
static_assert(offsetof(GridMachine, gather) == 56);
static_assert(offsetof(GridMachine, update) == 64);
static_assert(offsetof(GridMachine, fail) == 72);
static_assert(offsetof(GridMachine, copy) == 80);
static_assert(offsetof(GridMachine, wait_copies) == 88);
static_assert(offsetof(GridMachine, load_matrices) == 96);
static_assert(offsetof(GridMachine, multiply_matrices) == 104);
}  // namespace pellucid
