// Reductions over any set of axes: `reduce` kernels on blocks, partial results in a pairwise tree.
//
// Blocks and tree depend only on the shape and the strides, so the bits are the same for any number of threads.
#pragma once

#include "kernels/nest.h"

namespace pellucid {

constexpr int64_t kReduceBlock = 4096;  // the most elements that one kernel call reduces

struct ReduceCall {
  KernelRef& direct;   // inputs -> outputs
  KernelRef& partial;  // inputs -> accumulator dtype; `direct` if that is the output's
  KernelRef& combine;  // accumulators -> accumulators, by the same combination
  DType accumulator;
  // argmax and argmin: the outputs are (value, int64 index), the last parameter is the first element's index, and
  // the reduced axes keep their order. Otherwise there is one output.
  bool indexed;
  std::span<const int64_t> extents;
  uint64_t reduced_axes;                 // one bit per axis
  std::span<const MapOperand> operands;  // outputs first, with stride 0 on reduced axes; the kernel's dtypes
  std::span<const uint64_t> params;
};
int64_t run_reduce(const ReduceCall& call);

}  // namespace pellucid
