// A GPU kernel's grid on the CPU: every thread of a block is a fiber; barriers and shuffles switch fibers.
//
// Which thread runs next is the caller's choice, so a kernel whose result depends on it lacks a barrier. Accesses are
// told of before they happen: those outside of all operands end the run, and so do threads that meet in a byte of shared
// memory without a barrier between them. The kernels are those of pellucid_compiler/gpu, printed for the CPU.
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
  std::span<const Range> ranges;  // of global memory that the kernel may touch
  int64_t blocks, threads, shared_bytes;
  uint64_t order;  // of threads and of blocks: 0 ascending, 1 descending, else random
};

// Runs all blocks. What went wrong, or empty: the run ends at the first fault.
std::string run_emulated_grid(const GridCall& call);

}  // namespace pellucid
