// Reductions over any set of axes: `reduce` kernels on blocks, partial results in a pairwise tree.
//
// The blocks and the tree follow from the shape and the strides alone, so the bits are the same at
// any number of threads.
#pragma once

#include "kernels/nest.h"

namespace pellucid {

constexpr int64_t kReduceBlock = 4096;  // elements one kernel call reduces at most

struct ReduceCall {
  KernelRef& direct;   // inputs -> outputs
  KernelRef& partial;  // inputs -> accumulator dtype; `direct` when that is the output's
  KernelRef& combine;  // accumulators -> accumulators, by the same combination
  DType accumulator;
  // argmax and argmin: outputs are (value, int64 index), the last parameter is the first element's
  // index, and the reduced axes keep their order. Otherwise there is one output.
  bool indexed;
  std::span<const int64_t> extents;
  uint64_t reduced_axes;                 // bit per axis
  std::span<const MapOperand> operands;  // outputs first, with stride 0 on reduced axes; dtypes are the kernel's
  std::span<const uint64_t> params;
};
int64_t run_reduce(const ReduceCall& call);

}  // namespace pellucid
