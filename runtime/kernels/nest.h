// Loop nests over strided operands, reduced to what kernels take: one or two axes at a time.
//
// `run_map` drives `map` kernels, `run_reduce` (kernels/reduce.h) `reduce` kernels. Axes of extent 1
// are dropped, axes ordered by strides and collapsed; work is split into fixed blocks over threads.
// Operands whose dtype or layout the kernel does not take well pass through tiles in the L1 cache.
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
  DType kernel_dtype;      // what the kernel reads or writes
  const int64_t* strides;  // in bytes, one per axis of the nest; 0 where broadcast
};

struct MapCall {
  KernelRef& kernel;
  std::span<const int64_t> extents;
  std::span<const MapOperand> operands;  // outputs first
  int num_outputs;
  const uint64_t* params;
};
// Returns the kernels' lowest non-zero status, or 0.
int64_t run_map(const MapCall& call);

// Axes of a nest after ordering and collapsing, outermost first. Strides are stored operand by operand:
// strides[k * kMaxNestRank + axis].
struct Axes {
  int rank = 0;
  int64_t extents[kMaxNestRank];
  int64_t strides[kMaxMapOperands * kMaxNestRank];
  int64_t& stride(int operand, int axis) { return strides[operand * kMaxNestRank + axis]; }
  int64_t stride(int operand, int axis) const { return strides[operand * kMaxNestRank + axis]; }
};
// Moves axes of small stride inwards, as the operands agree (earlier operands decide).
void order_axes(Axes& axes, int num_operands);
// Merges neighbours that are one axis for every operand.
void collapse_axes(Axes& axes, int num_operands);

}  // namespace pellucid
