#include "products/winograd_tiles.h"

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "core/dtype.h"

namespace pellucid {
namespace {

// The number of elements from an axis's first tap to a window's first element.
int64_t before(const WindowDim& dim) { return dim.reversed ? kWindowTaps - 1 : 0; }

}  // namespace

TileLayout::TileLayout(int64_t channels, int64_t count, const Tiling& tiling)
    : channel((ceil_div((count + tiling.lanes) * tiling.element_bytes, kLine) | 1) * kLine),
      place(channels * channel + kLine) {}

Windows::Windows(const PackedProduct& product)
    : product_(product), tiling_(describe(product.kernel)), item_(static_cast<int64_t>(item_size(product.dtype))) {}

bool Windows::has_plain_rows() const {
  if (category(product_.dtype) != DTypeCategory::Floating || product_.accumulates || item_ != tiling_.element_bytes)
    return false;
  return std::ranges::all_of(std::to_array({kC, kA, kBias}),
                             [&](int operand) { return joint_stride(product_.groups[kRows], operand).has_value(); });
}

bool Windows::find(AxisList places, AxisList& taps, int shared) {
  if (product_.beyond.dims > 0 && product_.beyond.operand != kB) return false;
  int claimed = 0;
  for (int dim : {1, 0}) {
    if (places.empty() || !find_dim(dims[dim], places.back(), taps, claimed)) return false;
    places.pop_back();
  }
  images = std::move(places);
  for (const Axis& axis : product_.groups[kBatch]) (axis.strides[shared] ? items : images).push_back(axis);
  tile_rows = ceil_div(dims[0].extent, kTile);
  tiles = ceil_div(dims[1].extent, kTile);
  return dims[1].strides[kB] == item_ && claimed == product_.beyond.dims && std::ranges::none_of(images, moves) &&
         std::ranges::none_of(items, moves) && std::ranges::none_of(taps, moves);
}

// Also counts the dims of `Beyond` that the axes move along.
bool Windows::find_dim(WindowDim& dim, const Axis& places, AxisList& taps, int& claimed) const {
  const auto axis = std::ranges::find_if(taps, [&](const Axis& tap) {
    return tap.extent == kWindowTaps && std::abs(tap.strides[kB]) == places.strides[kB];
  });
  if (axis == taps.end()) return false;
  const int64_t sign = axis->strides[kB] < 0 ? -1 : 1;
  dim = {places.extent, {}, {}, places.extent + kWindowTaps - 1, 0, sign < 0};
  for (int operand = 0; operand < kProductOperands; ++operand) {
    dim.strides[operand] = places.strides[operand];
    dim.taps[operand] = sign * axis->strides[operand];
  }
  int found = 0;
  for (int d = 0; d < product_.beyond.dims; ++d) {
    if (places.steps[d] == 0 && axis->steps[d] == 0) continue;
    if (places.steps[d] != 1 || axis->steps[d] != sign || found++) return false;
    dim.size = product_.beyond.sizes[d];
    dim.first = product_.beyond.firsts[d] - before(dim);
  }
  claimed += found;
  taps.erase(axis);
  return true;
}

void Windows::cut(int64_t tiles_together) {
  pieces_ = Cut(tiles, ceil_div(tiles, tiles_together), tiling_.lanes);
  const int64_t most = pieces_.count == 1 ? std::max<int64_t>(tiles_together / tiles, 1) : 1;
  chunks_ = Cut(tile_rows, ceil_div(tile_rows, most), 1);
  const int64_t together = chunks_.count == 1 ? std::max<int64_t>(most / tile_rows, 1) : 1;
  groups_ = Cut(points(images), ceil_div(points(images), together), 1);
}

TileBlock Windows::block(int64_t number) const {
  const int64_t piece = number % pieces_.count, rest = number / pieces_.count, chunk = rest % chunks_.count,
                group = rest / chunks_.count;
  const auto range = [](const Cut& cut, int64_t index) { return Range{cut.begin(index), cut.size(index)}; };
  return {range(groups_, group), range(chunks_, chunk), range(pieces_, piece)};
}

int64_t Windows::transform_image(char* to, const TileLayout& layout, char* from, Range channels, int64_t stride,
                                 const TileBlock& block) const {
  for (const WindowDim& dim : dims) from -= (dim.first + before(dim)) * dim.strides[kB];
  return transform(kWinogradImage, kB, to, layout, from + channels.begin * stride, {dims[0].size, dims[1].size},
                   {dims[0].first, dims[1].first}, channels.size, stride, block);
}

int64_t Windows::transform_gradient(char* to, const TileLayout& layout, char* from, int64_t channels, int64_t stride,
                                    const TileBlock& block) const {
  return transform(kWinogradGradient, kA, to, layout, from, {dims[0].extent, dims[1].extent}, {}, channels, stride,
                   block);
}

int64_t Windows::transform(Part part, int operand, char* to, const TileLayout& layout, char* from,
                           const int64_t (&extents)[2], const int64_t (&first)[2], int64_t channels, int64_t stride,
                           const TileBlock& block) const {
  const int64_t row = block.tiles.size * item_;
  const std::vector<char> zeros(static_cast<size_t>(extents[1] * item_));
  for (int64_t i = 0; i < block.images.size; ++i) {
    char* data[] = {to + i * block.rows.size * row, from + place_of(images, operand, block.images.begin + i),
                    bytes(zeros.data())};
    const int64_t sizes[] = {channels,
                             block.rows.size,
                             block.tiles.size,
                             extents[0],
                             extents[1],
                             first[0] + block.rows.begin * kTile,
                             first[1] + block.tiles.begin * kTile};
    const int64_t strides[] = {stride, dims[0].strides[operand], layout.place, layout.channel, row};
    if (const int64_t status = run_part(product_.kernel, part, data, sizes, strides)) return status;
  }
  return 0;
}

int64_t Windows::tap_place(int operand, int64_t tap) const {
  return (tap / kWindowTaps - before(dims[0])) * dims[0].taps[operand] +
         (tap % kWindowTaps - before(dims[1])) * dims[1].taps[operand];
}

}  // namespace pellucid
