#include "products/window_lanes.h"

#include <algorithm>

namespace pellucid {
namespace {

// The index in one of the dims at each point of the axes.
std::vector<int64_t> indices_of(std::span<const Axis> axes, int dim, int64_t begin, int64_t count) {
  AxisList steps(axes.begin(), axes.end());
  for (Axis& axis : steps) axis.strides[0] = axis.steps[dim];
  std::vector<int64_t> out(static_cast<size_t>(count));
  places_of(steps, 0, begin, count, out.data());
  return out;
}

}  // namespace

bool WindowLanes::fits(std::span<const Axis> depth) {
  int64_t kinds = 1;
  for (const Axis& axis : depth)
    if (moves(axis) && (kinds *= axis.extent) > kMaxKinds) return false;
  return true;
}

WindowLanes::WindowLanes(const Beyond& beyond, std::span<const Axis> columns, std::span<const Axis> depth,
                         int64_t first, int64_t count) {
  AxisList moving;
  std::ranges::copy_if(depth, std::back_inserter(moving), moves);
  kinds_ = points(moving);
  for (int dim = 0; dim < beyond.dims; ++dim) add_dim(beyond, dim, columns, moving, first, count);
}

void WindowLanes::kinds_of(std::span<const Axis> depth, std::span<int64_t> kinds) {
  AxisList weights(depth.begin(), depth.end());
  int64_t count = 1;
  for (size_t k = weights.size(); k--;) {
    weights[k].strides[0] = moves(weights[k]) ? count : 0;
    if (moves(weights[k])) count *= weights[k].extent;
  }
  places_of(weights, 0, 0, static_cast<int64_t>(kinds.size()), kinds.data());
}

void WindowLanes::add_dim(const Beyond& beyond, int dim, std::span<const Axis> columns, std::span<const Axis> moving,
                          int64_t first, int64_t count) {
  Dim& added = dims_.emplace_back(Dim{beyond.sizes[dim], indices_of(columns, dim, first, count), {}, {}});
  for (int64_t& index : added.columns) index += beyond.firsts[dim];
  for (int64_t part : indices_of(moving, dim, 0, kinds_)) {
    const auto found = std::ranges::find(added.values, part);
    added.value_of.push_back(static_cast<uint16_t>(found - added.values.begin()));
    if (found == added.values.end()) added.values.push_back(part);
  }
}

void WindowLanes::find(int64_t first, int64_t count, uint64_t* masks) const {
  std::fill_n(masks, kinds_, ~uint64_t{0});
  for (const Dim& dim : dims_) {
    uint64_t inside[kMaxKinds];
    const int64_t* const columns = dim.columns.data() + first;
    for (size_t v = 0; v < dim.values.size(); ++v) {
      uint64_t bits = 0;
      for (int64_t i = 0; i < count; ++i)
        bits |=
            static_cast<uint64_t>(static_cast<uint64_t>(columns[i] + dim.values[v]) < static_cast<uint64_t>(dim.size))
            << i;
      inside[v] = bits;
    }
    for (int64_t kind = 0; kind < kinds_; ++kind) masks[kind] &= inside[dim.value_of[static_cast<size_t>(kind)]];
  }
}

}  // namespace pellucid
