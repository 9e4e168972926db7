// Loop nests over strided operands, reduced to what kernels take: one or two axes at a time.
//
// `run_map` drives `map` kernels, `run_reduce` (kernels/reduce.h) `reduce` kernels. Axes of extent 1 are dropped,
// the others ordered by strides and collapsed; work is split into fixed blocks over threads. Operands whose dtype
// or layout does not suit the kernel are staged through tiles in the L1 cache.
#pragma once

#include <cstdint>
#include <span>

#include "core/dtype.h"
#include "core/tensor.h"
#include "kernels/kernel_ref.h"

namespace pellucid {

constexpr int kMaxNestRank = kMaxDims;

struct MapOperand {
  char* data;
  DType dtype;             // in memory
  DType kernel_dtype;      // what the kernel loads or stores
  const int64_t* strides;  // in bytes, one per axis of the nest; 0 where broadcast
};

struct MapCall {
  KernelRef& kernel;
  std::span<const int64_t> extents;
  std::span<const MapOperand> operands;  // outputs first
  int num_outputs;
  const uint64_t* params;
};
// Returns the non-zero status of the lowest failing block, or 0.
int64_t run_map(const MapCall& call);

// The axes of a nest after ordering and collapsing, outermost first. Strides are stored operand by operand:
// strides[k * kMaxNestRank + axis].
struct Axes {
  int rank = 0;
  int64_t extents[kMaxNestRank];
  int64_t strides[kMaxMapOperands * kMaxNestRank];
  int64_t& stride(int operand, int axis) { return strides[operand * kMaxNestRank + axis]; }
  int64_t stride(int operand, int axis) const { return strides[operand * kMaxNestRank + axis]; }
};
// Moves axes of small stride inwards; earlier operands take precedence.
void order_axes(Axes& axes, int num_operands);
// Collapses neighbouring axes that are contiguous for every operand.
void collapse_axes(Axes& axes, int num_operands);

}  // namespace pellucid
