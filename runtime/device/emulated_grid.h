// A GPU kernel's grid on the CPU: every thread of a block is a fiber; barriers and shuffles switch fibers.
//
// The caller chooses the order in which threads run, so a kernel whose result depends on it lacks a barrier.
// Accesses are reported before they happen: an access outside all operands ends the run, and so does a race, in
// which threads access the same byte of shared memory without a barrier between them. The kernels are those of
// pellucid_compiler/gpu, printed for the CPU, and users' CUDA C++ (include/pellucid/cuda).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "abi/codes.h"
#include "device/grid_machine.h"

namespace pellucid {

struct GridCall {
  using Entry = void (*)(GridMachine*, const uint64_t* words);
  struct Range {
    uint64_t begin, end;
  };
  Entry entry;
  const uint64_t* words;
  std::span<const Range> ranges;  // of global memory that the kernel may access
  int64_t blocks, threads, shared_bytes;
  uint64_t order;  // of threads and of blocks: 0 ascending, 1 descending, else random
  // Of CUDA C++: the variables that it shares in a block, and whether barriers and gathers wait for no thread that has
  // ended, as GPUs do from compute capability 7.0 on.
  Range variables{};
  bool ends_early = false;
};

// Runs all blocks. Returns a description of the first fault, which ends the run, or an empty string.
std::string run_emulated_grid(const GridCall& call);

}  // namespace pellucid
