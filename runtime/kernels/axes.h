// Groups of axes of a contraction: how several operands move along the same loops.
//
// Used by contraction.cpp, which decides how a contraction runs, and by all of its implementations.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/cut.h"

namespace pellucid {

constexpr int kProductOperands = 4;  // C, A, B, bias
constexpr int kProductGroups = 4;    // batch, rows, columns, depth
enum ProductOperand { kC, kA, kB, kBias };
enum ProductGroup { kBatch, kRows, kColumns, kDepth };

// Zero padding of A or B: the dims of the operand whose index may be out of bounds.
constexpr int kMaxBeyond = 3;
struct Beyond {
  int operand = -1;  // -1: none
  int dims = 0;
  int64_t sizes[kMaxBeyond] = {};
  int64_t firsts[kMaxBeyond] = {};  // the index at the first point of all axes
};

// One axis and each operand's stride along it, in bytes. Axes are listed outermost first.
struct Axis {
  int64_t extent;
  int64_t strides[kProductOperands];
  int64_t steps[kMaxBeyond] = {};  // by how much the indices of `Beyond` grow per step
};
using AxisList = std::vector<Axis>;

inline int64_t points(std::span<const Axis> axes) {
  int64_t count = 1;
  for (const Axis& axis : axes) count *= axis.extent;
  return count;
}

// Whether an index that may be out of bounds changes along the axis.
inline bool moves(const Axis& axis) {
  return std::ranges::any_of(axis.steps, [](int64_t step) { return step != 0; });
}

// The operand's stride if the axes collapse into one axis for it.
inline std::optional<int64_t> joint_stride(std::span<const Axis> axes, int operand) {
  std::optional<int64_t> stride;
  int64_t next = 0;
  for (size_t k = axes.size(); k--;) {
    if (axes[k].extent == 1) continue;
    if (stride && axes[k].strides[operand] != next) return std::nullopt;
    if (!stride) stride = axes[k].strides[operand];
    next = axes[k].strides[operand] * axes[k].extent;
  }
  return stride ? stride : 0;
}

// The first axis from which on the axes collapse into one for the operand.
inline size_t joint_suffix(std::span<const Axis> axes, int operand) {
  size_t first = axes.size();
  while (first > 0 && joint_stride(axes.subspan(first - 1), operand)) --first;
  return first;
}

// The operand's offset at point number `index` of the axes.
inline int64_t place_of(std::span<const Axis> axes, int operand, int64_t index) {
  int64_t place = 0;
  for (size_t k = axes.size(); k--; index /= axes[k].extent) place += index % axes[k].extent * axes[k].strides[operand];
  return place;
}

// Advances the operands to linear index `index`.
inline void move_to(char* (&data)[kProductOperands], std::span<const Axis> axes, int64_t index) {
  for (int operand = 0; operand < kProductOperands; ++operand)
    if (data[operand]) data[operand] += place_of(axes, operand, index);
}

// Iterates over the points of the axes from number `first` on, for all operands.
class Walk {
 public:
  Walk(char* const* data, std::span<const Axis> axes, int64_t first) : axes_(axes), index_(axes.size()) {
    std::copy_n(data, kProductOperands, data_);
    move_to(data_, axes, first);
    for (size_t k = axes.size(); k--; first /= axes[k].extent) index_[k] = first % axes[k].extent;
  }

  char* const (&data() const)[kProductOperands] { return data_; }

  // Wraps around after the last point.
  void next() {
    for (size_t k = axes_.size(); k--;) {
      const Axis& axis = axes_[k];
      const bool ends = ++index_[k] == axis.extent;
      for (int operand = 0; operand < kProductOperands; ++operand)
        data_[operand] += (ends ? 1 - axis.extent : 1) * axis.strides[operand];
      if (!ends) return;
      index_[k] = 0;
    }
  }

 private:
  const std::span<const Axis> axes_;
  std::vector<int64_t> index_;
  char* data_[kProductOperands];
};

// The operand's offsets at `count` points from number `begin` on.
void places_of(std::span<const Axis> axes, int operand, int64_t begin, int64_t count, int64_t* places);
// The operand's offsets at all points.
std::vector<int64_t> all_places(std::span<const Axis> axes, int operand);

}  // namespace pellucid
