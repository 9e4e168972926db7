#include "kernels/winograd.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "core/dtype.h"
#include "core/tensor.h"
#include "core/thread_pool.h"
#include "kernels/conversion.h"
#include "kernels/product_panels.h"
#include "kernels/scratch.h"

namespace pellucid {
namespace {

constexpr int64_t kTaps = 3, kTile = 2;          // places of a window and of a tile in one dim
constexpr int64_t kReach = kTaps + kTile - 1;    // elements of the image that a tile reads in one dim
constexpr int64_t kPlaces = kReach * kReach;     // of a transformed tile, each with a product of its own
constexpr int64_t kTileBytes = 5 << 17;          // of transformed tiles, which stay in the L2 cache
constexpr int64_t kLeastTiles = 64;              // of those
constexpr int64_t kTasks = 16;                   // that a product is cut into at least, if its tiles allow
constexpr int64_t kLine = 64;                    // bytes

bool moves(const Axis& axis) {
  return std::ranges::any_of(axis.steps, [](int64_t step) { return step != 0; });
}

// One dim of the image: the places that windows have in it, and the taps of a window, which may go backwards.
struct WindowDim {
  int64_t extent;                              // places
  int64_t strides[kProductOperands];           // of a place
  int64_t taps[kProductOperands];              // of a tap, as they lie in the image
  int64_t size, first;                         // of the image, and the index that the first tap has at the first place
  bool reversed;
};

// Channels by tiles, one such matrix for each place. Matrices begin in different lines of the L1 cache.
struct Tiles {
  Tiles(int64_t channels, int64_t count, const Tiling& tiling)
      : channel((ceil_div((count + tiling.lanes) * tiling.element_bytes, kLine) | 1) * kLine), place(channels * channel + kLine) {}
  size_t bytes() const { return static_cast<size_t>(kPlaces * place); }
  int64_t channel, place;                      // bytes
};

// Some rows of tiles of an image, or some images.
struct Block {
  Range images, rows;
};

// The windows of a product's B, and the tiles that its places are cut into.
class Windows {
 public:
  explicit Windows(const PackedProduct& product)
      : product_(product), tiling_(describe(product.kernel)), item_(static_cast<int64_t>(item_size(product.dtype))) {}

  // Takes both dims of the image from the axes of the places, outermost first, and those of the taps. The other places
  // are images, batch axes along which `shared` stays.
  bool find(AxisList places, AxisList& taps, int shared) {
    if (product_.beyond.dims > 0 && product_.beyond.operand != kB) return false;
    for (int dim : {1, 0}) {
      if (places.empty() || !find_dim(dims[dim], places.back(), taps)) return false;
      places.pop_back();
    }
    images = std::move(places);
    for (const Axis& axis : product_.groups[kBatch]) (axis.strides[shared] ? items : images).push_back(axis);
    tile_rows = ceil_div(dims[0].extent, kTile);
    tiles = ceil_div(dims[1].extent, kTile);
    return dims[1].strides[kB] == item_ && std::ranges::none_of(images, moves) && std::ranges::none_of(items, moves) &&
           std::ranges::none_of(taps, moves);
  }

  int64_t all_tiles() const { return points(images) * tile_rows * tiles; }
  // Whether at most `percent` as many places are computed as there are.
  bool fill_tiles(int64_t percent) const { return tile_rows * tiles * kTile * kTile * 100 <= dims[0].extent * dims[1].extent * percent; }

  void cut(int64_t tiles_together) {
    const int64_t most = std::max<int64_t>(tiles_together / tiles, 1);
    chunks_ = Cut(tile_rows, ceil_div(tile_rows, most), 1);
    const int64_t together = chunks_.count == 1 ? std::max<int64_t>(most / tile_rows, 1) : 1;
    groups_ = Cut(points(images), ceil_div(points(images), together), 1);
  }
  int64_t blocks() const { return groups_.count * chunks_.count; }
  Block block(int64_t number) const {
    const int64_t group = number / chunks_.count, chunk = number % chunks_.count;
    return {{groups_.begin(group), groups_.size(group)}, {chunks_.begin(chunk), chunks_.size(chunk)}};
  }
  int64_t count(const Block& block) const { return block.images.size * block.rows.size * tiles; }
  int64_t most_tiles() const { return groups_.piece * chunks_.piece * tiles; }

  // Transforms tiles of B, the image, from where `from` is the first tap at the first place.
  int64_t transform_image(char* to, const Tiles& layout, char* from, Range channels, int64_t stride, const Block& block) const {
    int64_t top[2];
    for (int d : {0, 1}) {
      top[d] = dims[d].first;
      from -= (dims[d].first + (dims[d].reversed ? kTaps - 1 : 0)) * dims[d].strides[kB];
    }
    return transform(kWinogradImage, kB, to, layout, from + channels.begin * stride, {dims[0].size, dims[1].size}, top,
                     channels.size, stride, block);
  }

  // Transforms tiles of A, which has the places of C's gradient.
  int64_t transform_gradient(char* to, const Tiles& layout, char* from, int64_t channels, int64_t stride, const Block& block) const {
    return transform(kWinogradGradient, kA, to, layout, from, {dims[0].extent, dims[1].extent}, {}, channels, stride, block);
  }

  WindowDim dims[2] = {};                      // rows of the image, places in one
  AxisList images, items;                      // axes along which the other operand stays, and does not
  int64_t tile_rows = 0, tiles = 0;            // of an image: rows of tiles, tiles in one

 private:
  bool find_dim(WindowDim& dim, const Axis& places, AxisList& taps) const {
    const auto axis = std::ranges::find_if(taps, [&](const Axis& tap) {
      return tap.extent == kTaps && std::abs(tap.strides[kB]) == places.strides[kB];
    });
    if (axis == taps.end()) return false;
    const int64_t sign = axis->strides[kB] < 0 ? -1 : 1;
    dim = {places.extent, {}, {}, places.extent + kTaps - 1, 0, sign < 0};
    for (int operand = 0; operand < kProductOperands; ++operand) {
      dim.strides[operand] = places.strides[operand];
      dim.taps[operand] = sign * axis->strides[operand];
    }
    int found = 0;
    for (int d = 0; d < product_.beyond.dims; ++d) {
      if (places.steps[d] == 0 && axis->steps[d] == 0) continue;
      if (places.steps[d] != 1 || axis->steps[d] != sign || found++) return false;
      dim.size = product_.beyond.sizes[d];
      dim.first = product_.beyond.firsts[d] - (dim.reversed ? kTaps - 1 : 0);
    }
    taps.erase(axis);
    return true;
  }

  int64_t transform(Part part, int operand, char* to, const Tiles& layout, char* from, const int64_t (&extents)[2],
                    const int64_t (&top)[2], int64_t channels, int64_t stride, const Block& block) const {
    const int64_t row = tiles * item_;
    const std::vector<char> zeros(static_cast<size_t>(extents[1] * item_));
    for (int64_t i = 0; i < block.images.size; ++i) {
      char* data[] = {to + i * block.rows.size * row, from + place_of(images, operand, block.images.begin + i), bytes(zeros.data())};
      const int64_t sizes[] = {channels, block.rows.size, tiles, extents[0], extents[1], top[0] + block.rows.begin * kTile, top[1]};
      const int64_t strides[] = {stride, dims[0].strides[operand], layout.place, layout.channel, row};
      if (const int64_t status = run_part(product_.kernel, part, data, sizes, strides)) return status;
    }
    return 0;
  }

  const PackedProduct& product_;
  const Tiling tiling_;
  const int64_t item_;
  Cut groups_{1, 1, 1}, chunks_{1, 1, 1};      // of the images, of the rows of tiles
};

// What products of floats as they are in memory have, whose rows are one axis.
bool has_plain_rows(const PackedProduct& product) {
  const bool is_plain = category(product.dtype) == DTypeCategory::Floating && !product.accumulates;
  return is_plain && static_cast<int64_t>(item_size(product.dtype)) == describe(product.kernel).element_bytes &&
         std::ranges::all_of(std::to_array({kC, kA, kBias}), [&](int operand) { return joint_stride(product.groups[kRows], operand).has_value(); });
}

// Where an operand has the tap that meets element `index` of a window, from its first tap.
int64_t tap_place(const WindowDim& dim, int operand, int64_t index) {
  return (index - (dim.reversed ? kTaps - 1 : 0)) * dim.taps[operand];
}
int64_t tap_place(const Windows& windows, int operand, int64_t tap) {
  return tap_place(windows.dims[0], operand, tap / kTaps) + tap_place(windows.dims[1], operand, tap % kTaps);
}

// C are places of windows: a convolution or the gradient of its image.
class Convolution {
 public:
  explicit Convolution(const PackedProduct& product)
      : product_(product), tiling_(describe(product.kernel)), item_(tiling_.element_bytes), m_(points(product.groups[kRows])),
        windows_(product) {
    const auto& columns = product.groups[kColumns];
    if (columns.size() < 2 || product.groups[kDepth].size() != 3 || !has_plain_rows(product)) return;
    AxisList taps = product.groups[kDepth];
    if (!windows_.find(columns, taps, kA) || windows_.dims[1].strides[kC] != item_ || !has_bias_of_rows()) return;
    channels_ = taps[0];
    is_convolution_ = true;
  }

  bool pays() const {
    return is_convolution_ && channels_.extent >= kLeastChannels && m_ >= kLeastChannels && windows_.fill_tiles(kMostComputed) &&
           windows_.all_tiles() >= kTilesOfFilters;
  }

  std::optional<int64_t> run() {
    const int64_t items = points(windows_.items), fitting = kTileBytes / (kPlaces * channels_.extent * item_);
    windows_.cut(std::clamp(std::min(fitting, ceil_div(items * windows_.all_tiles(), kTasks)), kLeastTiles, kMostTiles));
    transform_filters();
    const int64_t blocks = windows_.blocks();
    const int64_t status =
        parallel_blocks(items * blocks, [&](int64_t number) { return run_block(number / blocks, windows_.block(number % blocks)); });
    return is_not_finite_ ? std::nullopt : std::optional(status);
  }

 private:
  static constexpr int64_t kLeastChannels = 8;     // of the image and of C
  static constexpr int64_t kTilesOfFilters = 36;   // that pay for transforming the filters
  static constexpr int64_t kMostComputed = 140;    // percent of the places of C
  static constexpr int64_t kMostTiles = 224;       // of a block
  static constexpr int64_t kChannels = 32;         // whose sum is added up before it joins the others

  bool has_bias_of_rows() const {
    const auto follows = [](const Axis& axis) { return axis.strides[kBias] != 0; };
    return windows_.dims[0].strides[kBias] == 0 && windows_.dims[1].strides[kBias] == 0 && std::ranges::none_of(windows_.images, follows);
  }

  // ------------------------------------------------------------ filters: panels of A, place by place

  int64_t a_row_bytes() const { return tiling_.vectors_of_a * tiling_.vector_bytes(); }
  int64_t panel_bytes() const { return channels_.extent * a_row_bytes(); }   // of one place

  char* filters_of(int64_t item, int64_t panel) const { return filters_->data() + (item * panels_ + panel) * kPlaces * panel_bytes(); }

  void transform_filters() {
    height_ = ceil_div(m_, ceil_div(m_, tiling_.rows));
    panels_ = ceil_div(m_, height_);
    const int64_t count = points(windows_.items) * panels_, elements[] = {count * kPlaces * panel_bytes()};
    filters_ = empty(elements, DType::UInt8);
    parallel_blocks(count, [&](int64_t number) { return transform_panel(number / panels_, number % panels_); });
  }

  int64_t transform_panel(int64_t item, int64_t panel) const {
    const Scratch taps(static_cast<size_t>(kTaps * kTaps * panel_bytes()));
    const int64_t row = *joint_stride(product_.groups[kRows], kA), first = panel * height_;
    char* const from = product_.data[kA] + place_of(windows_.items, kA, item) + first * row;
    for (int64_t tap = 0; tap < kTaps * kTaps; ++tap) {
      char* data[] = {taps.data() + tap * panel_bytes(), from + tap_place(windows_, kA, tap)};
      const int64_t sizes[] = {channels_.extent, std::min(height_, m_ - first), tiling_.vectors_of_a, 0};
      const int64_t strides[] = {channels_.strides[kA], row};
      if (const int64_t status = run_part(product_.kernel, kPackMatrix, data, sizes, strides)) return status;
    }
    char* data[] = {filters_of(item, panel), taps.data()};
    const int64_t sizes[] = {panel_bytes()}, strides[] = {panel_bytes(), panel_bytes()};
    return run_part(product_.kernel, kWinogradFilter, data, sizes, strides);
  }

  // ------------------------------------------------------------ blocks: tiles, their products, elements of C

  int64_t run_block(int64_t item, const Block& block) {
    char* data[kProductOperands];
    std::copy_n(product_.data, kProductOperands, data);
    move_to(data, windows_.items, item);
    const int64_t count = windows_.count(block);
    const Tiles layout(channels_.extent, count, tiling_), sums_layout(height_, count, tiling_);
    const Scratch image(layout.bytes()), sums(sums_layout.bytes());
    const Range channels{0, channels_.extent};
    if (const int64_t status = windows_.transform_image(image.data(), layout, data[kB], channels, channels_.strides[kB], block)) return status;
    const int64_t m_c = *joint_stride(product_.groups[kRows], kC), m_bias = *joint_stride(product_.groups[kRows], kBias);
    for (int64_t panel = 0; panel < panels_; ++panel) {
      const int64_t row = panel * height_, rows = std::min(height_, m_ - row);
      for (int64_t place = 0; place < kPlaces; ++place) {
        char* const from = filters_of(item, panel) + place * panel_bytes();
        const int64_t status =
            multiply(sums.data() + place * sums_layout.place, from, image.data() + place * layout.place, {rows, count},
                     {sums_layout.channel, layout.channel});
        if (status) return status;
      }
      char* const bias = data[kBias] ? data[kBias] + row * m_bias : nullptr;
      if (const int64_t status = transform_sums(block, data[kC] + row * m_c, bias, rows, sums.data(), sums_layout)) return status;
    }
    return 0;
  }

  struct Extents { int64_t m, n; };
  struct RowStrides { int64_t c, b; };

  int64_t multiply(char* c, char* a, char* b, Extents extents, RowStrides rows) const {
    const int64_t strides[] = {rows.c, 0, 0, 0, rows.b};
    for (int64_t k = 0; k < channels_.extent; k += kChannels) {
      char* data[] = {c, a + k * a_row_bytes(), b + k * rows.b, nullptr};
      const int64_t sizes[] = {extents.m, extents.n, std::min(kChannels, channels_.extent - k), height_};
      if (const int64_t status = run_part(product_.kernel, kMultiply, data, sizes, strides, k > 0)) return status;
    }
    return 0;
  }

  int64_t transform_sums(const Block& block, char* c, char* bias, int64_t rows, char* sums, const Tiles& layout) {
    const int64_t row = windows_.tiles * item_, top = block.rows.begin * kTile;
    const WindowDim &down = windows_.dims[0], &along = windows_.dims[1];
    const int64_t sizes[] = {rows, block.rows.size, windows_.tiles, down.extent - top, along.extent};
    const int64_t strides[] = {*joint_stride(product_.groups[kRows], kC), down.strides[kC], layout.place, layout.channel, row,
                               *joint_stride(product_.groups[kRows], kBias)};
    for (int64_t i = 0; i < block.images.size; ++i) {
      int64_t is_not_finite = 0;
      char* const to = c + place_of(windows_.images, kC, block.images.begin + i) + top * down.strides[kC];
      char* data[] = {to, sums + i * block.rows.size * row, bias, reinterpret_cast<char*>(&is_not_finite)};
      if (const int64_t status = run_part(product_.kernel, kWinogradResult, data, sizes, strides)) return status;
      if (is_not_finite) is_not_finite_ = true;
    }
    return 0;
  }

  const PackedProduct& product_;
  const Tiling tiling_;
  const int64_t item_, m_;
  Windows windows_;
  bool is_convolution_ = false;
  Axis channels_{};
  int64_t height_ = 1, panels_ = 1;                // of A
  Tensor filters_;
  std::atomic<bool> is_not_finite_ = false;
};

// C are filters, and places of windows are added up: the gradient of a convolution's weight.
class FilterGradient {
 public:
  explicit FilterGradient(const PackedProduct& product)
      : product_(product), tiling_(describe(product.kernel)), item_(tiling_.element_bytes), m_(points(product.groups[kRows])),
        windows_(product) {
    if (product.groups[kDepth].size() < 2 || product.groups[kColumns].size() != 3 || product.data[kBias] || !has_plain_rows(product)) return;
    AxisList taps = product.groups[kColumns], places = product.groups[kDepth];
    std::ranges::stable_sort(places, std::greater{}, [](const Axis& axis) { return axis.strides[kB]; });
    if (!windows_.find(places, taps, kC) || windows_.dims[1].strides[kA] != item_) return;
    channels_ = taps[0];
    is_gradient_ = true;
  }

  bool pays() const {
    return is_gradient_ && channels_.extent >= kLeastChannels && m_ >= kLeastChannels && windows_.fill_tiles(kMostComputed) &&
           windows_.all_tiles() >= kTilesOfSums;
  }

  std::optional<int64_t> run() {
    height_ = ceil_div(m_, ceil_div(m_, tiling_.rows));
    bands_ = Cut(m_, ceil_div(ceil_div(m_, height_), kBandPanels), height_);
    groups_ = Cut(channels_.extent, ceil_div(channels_.extent, kGroupChannels), tiling_.width());
    windows_.cut(std::clamp(kTileBytes / (kPlaces * item_ * (bands_.piece + groups_.piece)), kLeastTiles, kMostTiles));
    const int64_t items = points(windows_.items), pieces = bands_.count * groups_.count, blocks = windows_.blocks();
    slices_ = Cut(blocks, std::clamp<int64_t>(blocks / kLeastBlocks, 1, ceil_div(kTasks, items * pieces)), 1);
    row_bytes_ = ceil_div(channels_.extent * item_, kLine) * kLine;
    const int64_t elements[] = {items * slices_.count * kPlaces * m_ * row_bytes_};
    sums_ = empty(elements, DType::UInt8);
    const int64_t status = parallel_blocks(items * slices_.count * pieces, [&](int64_t number) {
      const int64_t piece = number % pieces, rest = number / pieces, band = piece / groups_.count, group = piece % groups_.count;
      return run_piece(rest / slices_.count, rest % slices_.count, {bands_.begin(band), bands_.size(band)},
                       {groups_.begin(group), groups_.size(group)});
    });
    if (status) return status;
    const int64_t parts = ceil_div(m_, kRowsTogether);
    const int64_t last = parallel_blocks(items * parts, [&](int64_t number) { return finish(number / parts, number % parts * kRowsTogether); });
    return is_not_finite_ ? std::nullopt : std::optional(last);
  }

 private:
  static constexpr int64_t kLeastChannels = 16;    // of the image and of C
  static constexpr int64_t kTilesOfSums = 256;     // that pay for transforming the sums
  static constexpr int64_t kMostComputed = 125;    // percent of the places that are added up
  static constexpr int64_t kMostTiles = 192;       // of a block
  static constexpr int64_t kLeastBlocks = 4;       // of a slice: its sums have memory of their own
  static constexpr int64_t kBandPanels = 5;        // of A, in a piece
  static constexpr int64_t kGroupChannels = 64;    // in a piece
  static constexpr int64_t kRowsTogether = 16;     // of C, that are written by one task

  char* sums_of(int64_t item, int64_t slice, int64_t place) const {
    return sums_->data() + ((item * slices_.count + slice) * kPlaces + place) * m_ * row_bytes_;
  }

  // ------------------------------------------------------------ pieces: rows, channels and a slice of the blocks

  int64_t run_piece(int64_t item, int64_t slice, Range rows, Range channels) const {
    char* data[kProductOperands];
    std::copy_n(product_.data, kProductOperands, data);
    move_to(data, windows_.items, item);
    const int64_t row = *joint_stride(product_.groups[kRows], kA), most = windows_.most_tiles();
    const Tiles layout(channels.size, most, tiling_), gradient_layout(rows.size, most, tiling_);
    const Scratch image(layout.bytes()), gradient(gradient_layout.bytes());
    const Scratch panels(static_cast<size_t>(ceil_div(channels.size, tiling_.width()) * tiling_.width() * most * item_));
    const int64_t first = slices_.begin(slice);
    for (int64_t number = first; number < first + slices_.size(slice); ++number) {
      const Block block = windows_.block(number);
      const int64_t count = windows_.count(block);
      if (const int64_t status = windows_.transform_image(image.data(), layout, data[kB], channels, channels_.strides[kB], block)) return status;
      if (const int64_t status =
              windows_.transform_gradient(gradient.data(), gradient_layout, data[kA] + rows.begin * row, rows.size, row, block))
        return status;
      for (int64_t place = 0; place < kPlaces; ++place) {
        char* copy[] = {panels.data(), image.data() + place * layout.place};
        const int64_t copied[] = {count, channels.size, tiling_.vectors, 0}, steps[] = {item_, layout.channel};
        if (const int64_t status = run_part(product_.kernel, kPackMatrix, copy, copied, steps)) return status;
        char* const sums = sums_of(item, slice, place) + rows.begin * row_bytes_ + channels.begin * item_;
        char* operands[] = {sums, gradient.data() + place * gradient_layout.place, panels.data(), nullptr};
        const int64_t sizes[] = {rows.size, channels.size, count, height_}, strides[] = {row_bytes_, 0, 0, gradient_layout.channel, 0};
        if (const int64_t status = run_part(product_.kernel, kMultiply, operands, sizes, strides, number > first)) return status;
      }
    }
    return 0;
  }

  // ------------------------------------------------------------ from sums to C

  // Adds the slices, transforms what comes out, and puts the channels of each tap where C has them.
  int64_t finish(int64_t item, int64_t row) {
    const int64_t rows = std::min(kRowsTogether, m_ - row), place_bytes = rows * row_bytes_;
    const Scratch total(static_cast<size_t>(kPlaces * place_bytes)), taps(static_cast<size_t>(kTaps * kTaps * place_bytes));
    std::memset(total.data(), 0, static_cast<size_t>(kPlaces * place_bytes));   // vectors of channels end behind the last
    for (int64_t place = 0; place < kPlaces; ++place) {
      char* data[] = {total.data() + place * place_bytes, sums_of(item, 0, place) + row * row_bytes_, nullptr};
      const int64_t sizes[] = {rows, channels_.extent, slices_.count}, strides[] = {row_bytes_, row_bytes_, 0, 0, kPlaces * m_ * row_bytes_};
      if (const int64_t status = run_part(product_.kernel, kFinish, data, sizes, strides)) return status;
    }
    int64_t is_not_finite = 0;
    char* data[] = {taps.data(), total.data(), reinterpret_cast<char*>(&is_not_finite)};
    const int64_t sizes[] = {place_bytes}, strides[] = {place_bytes, place_bytes};
    if (const int64_t status = run_part(product_.kernel, kWinogradWeight, data, sizes, strides)) return status;
    if (is_not_finite) is_not_finite_ = true;
    const int64_t c_row = *joint_stride(product_.groups[kRows], kC);
    char* const c = product_.data[kC] + place_of(windows_.items, kC, item) + row * c_row;
    for (int64_t tap = 0; tap < kTaps * kTaps; ++tap) {
      const Run run{{channels_.extent, rows}, {channels_.strides[kC], c_row}, {item_, row_bytes_}};
      convert(product_.dtype, c + tap_place(windows_, kC, tap), product_.dtype, taps.data() + tap * place_bytes, run);
    }
    return 0;
  }

  const PackedProduct& product_;
  const Tiling tiling_;
  const int64_t item_, m_;
  Windows windows_;
  bool is_gradient_ = false;
  Axis channels_{};
  int64_t height_ = 1, row_bytes_ = 0;             // of a panel of A; of the sums
  Cut bands_{1, 1, 1}, groups_{1, 1, 1}, slices_{1, 1, 1};
  Tensor sums_;                                    // of every slice and place: channels of the image for each row
  std::atomic<bool> is_not_finite_ = false;
};

}  // namespace

std::optional<int64_t> run_winograd(const PackedProduct& product) {
  if (Convolution convolution(product); convolution.pays()) return convolution.run();
  if (FilterGradient gradient(product); gradient.pays()) return gradient.run();
  return std::nullopt;
}

}  // namespace pellucid
