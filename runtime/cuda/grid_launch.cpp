#include "cuda/grid_launch.h"

#include <algorithm>
#include <bit>
#include <span>

namespace pellucid {
namespace {

constexpr uint64_t kMinTileColumns = 32, kMaxTileColumns = 256;  // the compiler refuses the last

struct Axis {
  int64_t extent;
  int64_t strides[kMaxNestOperands];
  int64_t steps[kMaxGuards];  // of all operands' guards
};

// Whether the kernel's axes are those of the launch.
bool keeps_axes(const GridKernel& kernel) { return kernel.form == GridForm::Nest || kernel.form == GridForm::Block; }

// The columns of a block's results, rounded up so that few kernels serve all sizes.
int tile_columns(const GridKernel& kernel, const Launch& launch) {
  uint64_t most = kMinTileColumns;
  for (size_t axis = 0; axis < launch.extents.size(); ++axis)
    if (kernel.wide >> axis & 1) most = std::max(most, static_cast<uint64_t>(launch.extents[axis]));
  return static_cast<int>(std::min(std::bit_ceil(most), kMaxTileColumns));
}

class Placing {
 public:
  Placing(const GridKernel& kernel, const Launch& launch) : kernel_(kernel), launch_(launch) {
    for (size_t k = 0; k < launch.operands.size(); ++k)
      if (is_sum(k)) groups_ = launch.operands[k].sizes[0];
  }

  // The axes of the grid: those that number the results, then the others; returns how many are first.
  int place_axes() {
    const auto stored = static_cast<size_t>(launch_.num_stored);
    if (kernel_.form == GridForm::Gemm) place_matrices(stored);
    else
      for (size_t axis = 0; axis < stored; ++axis) merge(axes_, 0, axis);
    const size_t first = axes_.size();
    for (size_t axis = stored; axis < launch_.extents.size(); ++axis) merge(axes_, first, axis);
    return static_cast<int>(first);
  }

  void write(GridLaunch& grid) const {
    std::vector<uint64_t>& words = grid.words;
    const auto add = [&](int64_t number) { words.push_back(static_cast<uint64_t>(number)); };
    if (keeps_axes(kernel_)) {
      for (const int64_t extent : launch_.extents) add(extent);
      for (const LaunchOperand& operand : launch_.operands) std::ranges::for_each(operand.strides, add);
      if (kernel_.form == GridForm::Nest)
        for (const LaunchOperand& operand : launch_.operands) std::ranges::for_each(operand.sizes, add);
    } else {
      for (const Axis& axis : axes_) add(axis.extent);
      for (size_t k = 0; k < launch_.operands.size(); ++k)
        for (const Axis& axis : axes_) add(axis.strides[k]);
      size_t number = 0;
      for (const LaunchOperand& operand : launch_.operands) {
        if (!operand.guards.empty()) add(operand.offset);
        for (const Guard& guard : operand.guards) {
          add(guard.first);
          add(guard.size);
          for (const Axis& axis : axes_) add(axis.steps[number]);
          ++number;
        }
      }
    }
    const auto params = static_cast<size_t>(kernel_.num_params);
    for (size_t k = 0; k < params; ++k) words.push_back(k < launch_.params.size() ? launch_.params[k] : 0);
    add(groups_);
    for (size_t k = 0; k < static_cast<size_t>(launch_.num_outputs); ++k)
      add(is_sum(k) ? launch_.operands[k].strides[0] : 0);
  }

  std::span<const Axis> axes() const { return axes_; }
  // Whether a product's sum runs over more points than its kernel can number.
  bool is_too_deep(int stored) const {
    return kernel_.form == GridForm::Gemm && !is_numbered(axes().subspan(static_cast<size_t>(stored)));
  }
  int guards() const {
    const auto count = [&](size_t factor) {
      const size_t k = static_cast<size_t>(launch_.num_outputs) + factor;
      return k < launch_.operands.size() ? static_cast<int>(launch_.operands[k].guards.size()) : 0;
    };
    return count(0) + 16 * count(1);
  }
  int rows() const { return rows_; }
  int columns() const { return columns_; }

 private:
  bool is_sum(size_t k) const { return k < 64 && kernel_.sums >> k & 1; }

  // A sum has the group and then the columns; along the rows it stays in place.
  int64_t stride(size_t k, size_t axis) const {
    const auto stored = static_cast<size_t>(launch_.num_stored);
    const LaunchOperand& operand = launch_.operands[k];
    if (!is_sum(k)) return operand.strides[axis];
    return axis < stored ? 0 : operand.strides[1 + axis - stored];
  }

  Axis axis_of(size_t axis) const {
    Axis made{launch_.extents[axis], {}, {}};
    for (size_t k = 0; k < launch_.operands.size(); ++k) made.strides[k] = stride(k, axis);
    size_t number = 0;
    for (const LaunchOperand& operand : launch_.operands)
      for (const Guard& guard : operand.guards) made.steps[number++] = guard.steps[axis];
    return made;
  }

  // Adds an axis to `axes`, or merges it with the last one from `first` on.
  void merge(std::vector<Axis>& axes, size_t first, size_t number) const {
    const Axis inner = axis_of(number);
    if (inner.extent == 1) return;
    if (axes.size() > first) {
      Axis& outer = axes.back();
      bool is_run = true;
      for (size_t k = 0; k < launch_.operands.size(); ++k)
        is_run &= outer.strides[k] == inner.strides[k] * inner.extent;
      for (size_t k = 0; k < kMaxGuards; ++k) is_run &= outer.steps[k] == inner.steps[k] * inner.extent;
      if (is_run) {
        const int64_t extent = outer.extent * inner.extent;
        outer = inner;
        outer.extent = extent;
        return;
      }
    }
    axes.push_back(inner);
  }

  // A product's axes: batches, then those that the first factor alone has, the rows, then those that the second alone
  // has, the columns. A convolution's windows are rows or columns of several axes.
  void place_matrices(size_t stored) {
    std::vector<Axis> batches, rows, columns;
    const auto outputs = static_cast<size_t>(launch_.num_outputs);
    for (size_t axis = 0; axis < stored; ++axis) {
      const bool has_row = stride(outputs, axis) != 0, has_column = stride(outputs + 1, axis) != 0;
      merge(has_row == has_column ? batches : has_row ? rows : columns, 0, axis);
    }
    if (rows.empty()) rows.push_back({1, {}, {}});
    if (columns.empty()) columns.push_back({1, {}, {}});
    for (auto* list : {&rows, &columns})
      for (; !is_numbered(*list); list->erase(list->begin())) batches.push_back(list->front());
    axes_ = std::move(batches);
    for (const auto* list : {&rows, &columns}) axes_.insert(axes_.end(), list->begin(), list->end());
    rows_ = static_cast<int>(rows.size());
    columns_ = static_cast<int>(columns.size());
  }

  // Whether 32 bits number the points of several axes, as kernels of products do.
  static bool is_numbered(std::span<const Axis> axes) {
    double points = 1;
    for (const Axis& axis : axes) points *= static_cast<double>(axis.extent);
    return axes.size() < 2 || points < double{INT32_MAX};
  }

  const GridKernel& kernel_;
  const Launch& launch_;
  std::vector<Axis> axes_;
  int rows_ = 0, columns_ = 0;
  int64_t groups_ = 1;
};

}  // namespace

GridLaunch place_on_grid(const GridKernel& kernel, const Launch& launch, uint64_t status) {
  GridLaunch grid;
  Placing placing(kernel, launch);
  if (keeps_axes(kernel)) {
    const bool is_block = kernel.form == GridForm::Block;
    grid.stored = is_block ? launch.num_stored : static_cast<int>(launch.extents.size());
    grid.reduced = is_block ? tile_columns(kernel, launch) : 0;
    std::ranges::copy(launch.extents, grid.extents);
  } else {
    grid.stored = placing.place_axes();
    grid.reduced = static_cast<int>(placing.axes().size()) - grid.stored;
    grid.is_too_deep = placing.is_too_deep(grid.stored);
    grid.rows = placing.rows();
    grid.columns = placing.columns();
    grid.guards = placing.guards();
    std::ranges::transform(placing.axes(), grid.extents, &Axis::extent);
  }
  for (int axis = 0; axis < grid.stored; ++axis) grid.points *= grid.extents[axis];
  grid.words.reserve(64);
  for (const LaunchOperand& operand : launch.operands) grid.words.push_back(operand.address);
  grid.words.push_back(status);
  placing.write(grid);
  return grid;
}

}  // namespace pellucid
