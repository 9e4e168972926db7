#include "kernels/winograd.h"

#include <algorithm>
#include <atomic>
#include <span>
#include <vector>

#include "core/dtype.h"
#include "core/tensor.h"
#include "core/thread_pool.h"
#include "kernels/product_panels.h"
#include "kernels/scratch.h"

namespace pellucid {
namespace {

constexpr int64_t kTaps = 3, kTile = 2;          // places of a window and of a tile in one dim
constexpr int64_t kReach = kTaps + kTile - 1;    // elements of the image that a tile reads in one dim
constexpr int64_t kPlaces = kReach * kReach;     // of a transformed tile, each with a product of its own
constexpr int64_t kChannels = 32;                // channels whose sum is added up before it joins the others
constexpr int64_t kImageBytes = 5 << 17;         // of transformed tiles, which stay in the L2 cache
constexpr int64_t kMostTiles = 224, kLeastTiles = 64;   // of those
constexpr int64_t kTasks = 16;                   // that a product is cut into at least, if its tiles allow
constexpr int64_t kLeastChannels = 8, kLeastRows = 8;
constexpr int64_t kTilesOfFilters = 36;          // that pay for transforming the filters
constexpr int64_t kComputed = 7, kUsed = 5;      // elements of tiles for so many of C: else too many are computed in vain
constexpr int64_t kLine = 64;                    // bytes

class Winograd {
 public:
  explicit Winograd(const PackedProduct& product)
      : product_(product), tiling_(describe(product.kernel)), item_(static_cast<int64_t>(item_size(product.dtype))),
        m_(points(product.groups[kRows])) {
    is_convolution_ = find_axes();
    if (is_convolution_) choose_tiles();
  }

  bool pays() const {
    if (!is_convolution_ || channels_.extent < kLeastChannels || m_ < kLeastRows) return false;
    const int64_t computed = tile_rows_ * tiles_, used = dims_[0].extent * dims_[1].extent;
    return computed * points(images_) >= kTilesOfFilters && computed * kTile * kTile * kUsed <= used * kComputed;
  }

  std::optional<int64_t> run() {
    transform_filters();
    const Cut groups(points(images_), ceil_div(points(images_), images_together_), 1);
    const Cut chunks(tile_rows_, ceil_div(tile_rows_, rows_together_), 1);
    const int64_t count = points(items_) * groups.count * chunks.count;
    const int64_t status = parallel_blocks(count, [&](int64_t number) {
      const int64_t chunk = number % chunks.count, rest = number / chunks.count, group = rest % groups.count;
      return run_block({rest / groups.count, {groups.begin(group), groups.size(group)}, {chunks.begin(chunk), chunks.size(chunk)}});
    });
    if (is_not_finite_) return std::nullopt;
    return status;
  }

 private:
  // ------------------------------------------------------------ what the axes are

  // One dim of the image: a column axis of C and the axis of the taps, which may go backwards.
  struct Dim {
    int64_t extent;                  // of C
    int64_t strides[kProductOperands];
    int64_t tap_of_a;                // A's stride between taps, as they lie in the image
    int64_t size, first;             // of the image, and the index that the first tap has at the first place of C
    int64_t reversed;                // whether taps go backwards
  };

  static bool moves(const Axis& axis) { return std::ranges::any_of(axis.steps, [](int64_t step) { return step != 0; }); }

  bool find_axes() {
    if (product_.accumulates || category(product_.dtype) != DTypeCategory::Floating || item_ != tiling_.element_bytes) return false;
    if (product_.beyond.dims > 0 && product_.beyond.operand != kB) return false;
    if (product_.groups[kColumns].size() < 2 || product_.groups[kDepth].size() != 3) return false;
    for (int operand : {kC, kA, kBias})
      if (!joint_stride(product_.groups[kRows], operand)) return false;
    AxisList columns = product_.groups[kColumns], depth = product_.groups[kDepth];
    for (int dim : {1, 0}) {
      if (!find_dim(dim, columns.back(), depth)) return false;
      columns.pop_back();
    }
    if (dims_[1].strides[kB] != item_ || dims_[1].strides[kC] != item_ || moves(depth[0])) return false;
    channels_ = depth[0];
    images_ = std::move(columns);
    for (const Axis& axis : product_.groups[kBatch]) (axis.strides[kA] ? items_ : images_).push_back(axis);
    return std::ranges::none_of(images_, moves) && std::ranges::none_of(items_, moves) && has_bias_of_rows();
  }

  // Takes the axis of the taps from `depth`: three, which move by as much as the places of C.
  bool find_dim(int number, const Axis& column, AxisList& depth) {
    const auto taps = std::ranges::find_if(depth, [&](const Axis& axis) {
      return axis.extent == kTaps && std::abs(axis.strides[kB]) == column.strides[kB];
    });
    if (taps == depth.end()) return false;
    const bool reversed = taps->strides[kB] < 0;
    Dim& dim = dims_[number];
    dim = {column.extent, {}, taps->strides[kA] * (reversed ? -1 : 1), column.extent + kTaps - 1, 0, reversed};
    std::copy_n(column.strides, kProductOperands, dim.strides);
    int found = 0;
    for (int d = 0; d < product_.beyond.dims; ++d) {
      if (column.steps[d] == 0 && taps->steps[d] == 0) continue;
      if (column.steps[d] != 1 || taps->steps[d] != (reversed ? -1 : 1) || found++) return false;
      dim.size = product_.beyond.sizes[d];
      dim.first = product_.beyond.firsts[d] - (reversed ? kTaps - 1 : 0);
    }
    depth.erase(taps);
    return true;
  }

  bool has_bias_of_rows() const {
    const auto follows = [](const Axis& axis) { return axis.strides[kBias] != 0; };
    return dims_[0].strides[kBias] == 0 && dims_[1].strides[kBias] == 0 && std::ranges::none_of(images_, follows);
  }

  // ------------------------------------------------------------ tiles: some rows of an image, or some images

  void choose_tiles() {
    tile_rows_ = ceil_div(dims_[0].extent, kTile);
    tiles_ = ceil_div(dims_[1].extent, kTile);
    const int64_t all = points(items_) * points(images_) * tile_rows_ * tiles_;
    const int64_t fitting = kImageBytes / (kPlaces * channels_.extent * item_);
    const int64_t wanted = std::clamp(std::min(fitting, ceil_div(all, kTasks)), kLeastTiles, kMostTiles);
    const int64_t most = std::max<int64_t>(wanted / tiles_, 1);
    rows_together_ = Cut(tile_rows_, ceil_div(tile_rows_, most), 1).piece;
    images_together_ = std::max<int64_t>(rows_together_ == tile_rows_ ? most / tile_rows_ : 1, 1);
  }

  // ------------------------------------------------------------ filters: panels of A, place by place

  int64_t a_row_bytes() const { return tiling_.vectors_of_a * tiling_.vector_bytes(); }
  int64_t panel_bytes() const { return channels_.extent * a_row_bytes(); }   // of one place

  char* filters_of(int64_t item, int64_t panel) const { return filters_->data() + (item * panels_ + panel) * kPlaces * panel_bytes(); }

  void transform_filters() {
    height_ = ceil_div(m_, ceil_div(m_, tiling_.rows));
    panels_ = ceil_div(m_, height_);
    const int64_t elements[] = {points(items_) * panels_ * kPlaces * panel_bytes()};
    filters_ = empty(elements, DType::UInt8);
    parallel_blocks(points(items_) * panels_, [&](int64_t number) { return transform_panel(number / panels_, number % panels_); });
  }

  int64_t transform_panel(int64_t item, int64_t panel) const {
    const Scratch taps(static_cast<size_t>(kTaps * kTaps * panel_bytes()));
    const int64_t row = *joint_stride(product_.groups[kRows], kA), first = panel * height_;
    char* const from = product_.data[kA] + place_of(items_, kA, item) + first * row;
    int64_t offsets[kTaps * kTaps];
    for (int64_t tap = 0; tap < kTaps * kTaps; ++tap) {
      offsets[tap] = tap * panel_bytes();
      char* data[] = {taps.data() + offsets[tap], from + tap_place(dims_[0], tap / kTaps) + tap_place(dims_[1], tap % kTaps)};
      const int64_t sizes[] = {channels_.extent, std::min(height_, m_ - first), tiling_.vectors_of_a, 0};
      const int64_t strides[] = {channels_.strides[kA], row};
      if (const int64_t status = run_part(product_.kernel, kPackMatrix, data, sizes, strides)) return status;
    }
    char* data[] = {filters_of(item, panel), taps.data(), bytes(offsets)};
    const int64_t sizes[] = {panel_bytes()}, strides[] = {panel_bytes()};
    return run_part(product_.kernel, kWinogradFilter, data, sizes, strides);
  }

  // Where A has the tap that meets element `index` of a window, from its first tap.
  static int64_t tap_place(const Dim& dim, int64_t index) { return (index - (dim.reversed ? kTaps - 1 : 0)) * dim.tap_of_a; }

  // ------------------------------------------------------------ blocks: tiles, their products, elements of C

  struct Block {
    int64_t item;
    Range images, rows;              // of tiles
  };

  // Channels by tiles, one such matrix for each place. Matrices begin in different lines of the L1 cache.
  struct Tiles {
    char* start;
    int64_t place, channel;          // bytes
  };

  Tiles tiles_in(char* start, int64_t channels, int64_t count) const {
    const int64_t channel = (ceil_div((count + tiling_.lanes) * item_, kLine) | 1) * kLine;
    return {start, channels * channel + kLine, channel};
  }

  int64_t run_block(const Block& block) {
    const int64_t count = block.images.size * block.rows.size * tiles_;
    const Tiles image = tiles_in(nullptr, channels_.extent, count), sums = tiles_in(nullptr, height_, count);
    const Scratch memory(static_cast<size_t>(kPlaces * (image.place + sums.place)));
    return run_tiles(block, count, {memory.data(), image.place, image.channel},
                     {memory.data() + kPlaces * image.place, sums.place, sums.channel});
  }

  int64_t run_tiles(const Block& block, int64_t count, Tiles image, Tiles sums) {
    char* data[kProductOperands];
    std::copy_n(product_.data, kProductOperands, data);
    move_to(data, items_, block.item);
    if (const int64_t status = transform_image(data, block, image)) return status;
    const int64_t m_c = *joint_stride(product_.groups[kRows], kC), m_bias = *joint_stride(product_.groups[kRows], kBias);
    for (int64_t panel = 0; panel < panels_; ++panel) {
      const int64_t row = panel * height_, rows = std::min(height_, m_ - row);
      if (const int64_t status = multiply(filters_of(block.item, panel), rows, count, image, sums)) return status;
      char* const bias = data[kBias] ? data[kBias] + row * m_bias : nullptr;
      if (const int64_t status = transform_sums(block, data[kC] + row * m_c, bias, rows, sums)) return status;
    }
    return 0;
  }

  int64_t transform_image(char* const* data, const Block& block, Tiles image) const {
    const int64_t row = tiles_ * item_;
    const std::vector<char> zeros(static_cast<size_t>(dims_[1].size * item_));
    for (int64_t i = 0; i < block.images.size; ++i) {
      char* const from = data[kB] + place_of(images_, kB, block.images.begin + i) + origin();
      char* operands[] = {image.start + i * block.rows.size * row, from, bytes(zeros.data())};
      const int64_t sizes[] = {channels_.extent, block.rows.size, tiles_, dims_[0].size, dims_[1].size,
                               dims_[0].first + block.rows.begin * kTile, dims_[1].first};
      const int64_t strides[] = {channels_.strides[kB], dims_[0].strides[kB], image.place, image.channel, row};
      if (const int64_t status = run_part(product_.kernel, kWinogradImage, operands, sizes, strides)) return status;
    }
    return 0;
  }

  // From where B is given, at the first tap of the first place of C, to its first element.
  int64_t origin() const {
    int64_t bytes = 0;
    for (const Dim& dim : dims_) bytes -= (dim.first + (dim.reversed ? kTaps - 1 : 0)) * dim.strides[kB];
    return bytes;
  }

  int64_t multiply(char* filters, int64_t rows, int64_t count, Tiles image, Tiles sums) const {
    const int64_t strides[] = {sums.channel, 0, 0, 0, image.channel};
    for (int64_t place = 0; place < kPlaces; ++place)
      for (int64_t k = 0; k < channels_.extent; k += kChannels) {
        char* operands[] = {sums.start + place * sums.place, filters + place * panel_bytes() + k * a_row_bytes(),
                            image.start + place * image.place + k * image.channel, nullptr};
        const int64_t sizes[] = {rows, count, std::min(kChannels, channels_.extent - k), height_};
        if (const int64_t status = run_part(product_.kernel, kMultiply, operands, sizes, strides, k > 0)) return status;
      }
    return 0;
  }

  int64_t transform_sums(const Block& block, char* c, char* bias, int64_t rows, Tiles sums) {
    const int64_t row = tiles_ * item_, top = block.rows.begin * kTile;
    const int64_t sizes[] = {rows, block.rows.size, tiles_, dims_[0].extent - top, dims_[1].extent};
    const int64_t strides[] = {*joint_stride(product_.groups[kRows], kC), dims_[0].strides[kC], sums.place, sums.channel, row,
                               *joint_stride(product_.groups[kRows], kBias)};
    for (int64_t i = 0; i < block.images.size; ++i) {
      int64_t is_not_finite = 0;
      char* const to = c + place_of(images_, kC, block.images.begin + i) + top * dims_[0].strides[kC];
      char* operands[] = {to, sums.start + i * block.rows.size * row, bias, reinterpret_cast<char*>(&is_not_finite)};
      if (const int64_t status = run_part(product_.kernel, kWinogradResult, operands, sizes, strides)) return status;
      if (is_not_finite) is_not_finite_ = true;
    }
    return 0;
  }

  const PackedProduct& product_;
  const Tiling tiling_;
  const int64_t item_, m_;
  bool is_convolution_ = false;
  Dim dims_[2];                                    // rows of the image, places in one
  Axis channels_{};
  AxisList images_, items_;                        // axes that share A, and those that do not
  int64_t tile_rows_ = 0, tiles_ = 0;              // of an image: rows of tiles, tiles in one
  int64_t rows_together_ = 1, images_together_ = 1;
  int64_t height_ = 1, panels_ = 1;                // of A
  Tensor filters_;
  std::atomic<bool> is_not_finite_ = false;
};

}  // namespace

std::optional<int64_t> run_winograd(const PackedProduct& product) {
  Winograd winograd(product);
  return winograd.pays() ? winograd.run() : std::nullopt;
}

}  // namespace pellucid
