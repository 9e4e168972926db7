#include "products/winograd.h"

#include <algorithm>
#include <atomic>

#include "core/dtype.h"
#include "core/tensor.h"
#include "core/thread_pool.h"
#include "kernels/scratch.h"
#include "products/product_panels.h"
#include "products/winograd_gradient.h"
#include "products/winograd_tiles.h"

namespace pellucid {
namespace {

// C consists of window positions: a convolution, or the gradient of its image.
class Convolution {
 public:
  explicit Convolution(const PackedProduct& product)
      : product_(product), tiling_(describe(product.kernel)), item_(tiling_.element_bytes),
        m_(points(product.groups[kRows])), windows_(product) {
    const auto& columns = product.groups[kColumns];
    if (columns.size() < 2 || product.groups[kDepth].size() != 3 || !windows_.has_plain_rows()) return;
    AxisList taps = product.groups[kDepth];
    if (!windows_.find(columns, taps, kA) || windows_.dims[1].strides[kC] != item_ || !has_bias_of_rows()) return;
    channels_ = taps[0];
    height_ = tiling_.panel_height(m_);
    panels_ = ceil_div(m_, height_);
    is_convolution_ = true;
  }

  bool is_profitable() const {
    return is_convolution_ && channels_.extent >= kLeastChannels && m_ >= kLeastChannels &&
           windows_.fill_tiles(kMostComputed) &&
           windows_.all_tiles() * std::min(channels_.extent, kChannels) >= kSumsOfFilters &&
           filter_bytes() <= kMostFilterBytes;
  }

  std::optional<int64_t> run() {
    const int64_t items = points(windows_.items), fitting = kTileBytes / (kTilePlaces * channels_.extent * item_);
    windows_.cut(
        std::clamp(std::min(fitting, ceil_div(items * windows_.all_tiles(), kWinogradTasks)), kLeastTiles, kMostTiles));
    if (const int64_t status = transform_filters()) return status;
    if (is_unfit_) return std::nullopt;
    // If blocks are few, they are split by panels for more threads; each part transforms the image again.
    const int64_t blocks = windows_.blocks();
    const Cut bands(panels_, std::min(ceil_div(kWinogradTasks, items * blocks), panels_ / kLeastPanels), 1);
    const int64_t status = parallel_blocks(items * blocks * bands.count, [&](int64_t number) {
      const int64_t band = number % bands.count, rest = number / bands.count;
      return run_block(rest / blocks, windows_.block(rest % blocks), {bands.begin(band), bands.size(band)});
    });
    return is_unfit_ ? std::nullopt : std::optional(status);
  }

 private:
  static constexpr int64_t kLeastChannels = 8;  // of the image and of C
  static constexpr int64_t kSumsOfFilters =
      36 * 32;  // tiles times channels for which transforming the filters is worth it
  static constexpr int64_t kMostFilterBytes = 1 << 25;  // of transformed filters
  static constexpr int64_t kLeastPanels = 4;            // per task
  static constexpr int64_t kMostComputed = 140;         // computed pixels in percent of those of C
  static constexpr int64_t kMostTiles = 224;            // per block
  static constexpr int64_t kChannels = 32;              // channels that are summed before they are added to the total

  bool has_bias_of_rows() const {
    const auto follows = [](const Axis& axis) { return axis.strides[kBias] != 0; };
    return windows_.dims[0].strides[kBias] == 0 && windows_.dims[1].strides[kBias] == 0 &&
           std::ranges::none_of(windows_.images, follows);
  }

  // ------------------------------------------------------------ filters: panels of A, one per tile element

  int64_t panel_bytes() const { return channels_.extent * tiling_.a_row_bytes(); }  // of one tile element

  int64_t filter_bytes() const { return points(windows_.items) * panels_ * kTilePlaces * panel_bytes(); }
  char* filters_of(int64_t item, int64_t panel) const {
    return filters_->host() + (item * panels_ + panel) * kTilePlaces * panel_bytes();
  }

  int64_t transform_filters() {
    const int64_t elements[] = {filter_bytes()};
    filters_ = empty(elements, DType::UInt8);
    return parallel_blocks(points(windows_.items) * panels_,
                           [&](int64_t number) { return transform_panel(number / panels_, number % panels_); });
  }

  int64_t transform_panel(int64_t item, int64_t panel) {
    const Scratch taps(static_cast<size_t>(kAllTaps * panel_bytes()));
    const int64_t row = *joint_stride(product_.groups[kRows], kA), first = panel * height_,
                  rows = std::min(height_, m_ - first);
    char* const from = product_.data[kA] + place_of(windows_.items, kA, item) + first * row;
    for (int64_t tap = 0; tap < kAllTaps; ++tap) {
      char* data[] = {taps.data() + tap * panel_bytes(), from + windows_.tap_place(kA, tap)};
      const int64_t sizes[] = {channels_.extent, rows, tiling_.vectors_of_a, 0};
      const int64_t strides[] = {channels_.strides[kA], row};
      if (const int64_t status = run_part(product_.kernel, kPackMatrix, data, sizes, strides)) return status;
    }
    int64_t is_uneven = 0;
    char* data[] = {filters_of(item, panel), taps.data(), reinterpret_cast<char*>(&is_uneven)};
    const int64_t sizes[] = {channels_.extent, tiling_.a_row_bytes(), rows}, strides[] = {panel_bytes(), panel_bytes()};
    const int64_t status = run_part(product_.kernel, kWinogradFilter, data, sizes, strides);
    if (is_uneven) is_unfit_ = true;
    return status;
  }

  // ------------------------------------------------------------ blocks: tiles, their products, elements of C

  int64_t run_block(int64_t item, const TileBlock& block, Range panels) {
    if (is_unfit_) return 0;
    char* data[kProductOperands];
    std::copy_n(product_.data, kProductOperands, data);
    move_to(data, windows_.items, item);
    const int64_t count = block.count();
    const TileLayout layout(channels_.extent, count, tiling_), sums_layout(height_, count, tiling_);
    const Scratch image(layout.bytes()), sums(sums_layout.bytes());
    const Range channels{0, channels_.extent};
    if (const int64_t status =
            windows_.transform_image(image.data(), layout, data[kB], channels, channels_.strides[kB], block))
      return status;
    const int64_t m_c = *joint_stride(product_.groups[kRows], kC),
                  m_bias = *joint_stride(product_.groups[kRows], kBias);
    for (int64_t panel = panels.begin; panel < panels.begin + panels.size; ++panel) {
      const int64_t row = panel * height_, rows = std::min(height_, m_ - row);
      for (int64_t place = 0; place < kTilePlaces; ++place) {
        char* const from = filters_of(item, panel) + place * panel_bytes();
        const int64_t status =
            multiply(sums.data() + place * sums_layout.place, from, image.data() + place * layout.place, {rows, count},
                     {sums_layout.channel, layout.channel});
        if (status) return status;
      }
      char* const bias = data[kBias] ? data[kBias] + row * m_bias : nullptr;
      if (const int64_t status = transform_sums(block, data[kC] + row * m_c, bias, rows, sums.data(), sums_layout))
        return status;
    }
    return 0;
  }

  struct Extents {
    int64_t m, n;
  };
  struct RowStrides {
    int64_t c, b;
  };

  int64_t multiply(char* c, char* a, char* b, Extents extents, RowStrides rows) const {
    const int64_t strides[] = {rows.c, 0, 0, 0, rows.b};
    for (int64_t k = 0; k < channels_.extent; k += kChannels) {
      char* data[] = {c, a + k * tiling_.a_row_bytes(), b + k * rows.b, nullptr};
      const int64_t sizes[] = {extents.m, extents.n, std::min(kChannels, channels_.extent - k), height_};
      if (const int64_t status = run_part(product_.kernel, kMultiply, data, sizes, strides, k > 0)) return status;
    }
    return 0;
  }

  int64_t transform_sums(const TileBlock& block, char* c, char* bias, int64_t rows, char* sums,
                         const TileLayout& layout) {
    const int64_t row = block.tiles.size * item_, top = block.rows.begin * kTile, left = block.tiles.begin * kTile;
    const WindowDim &down = windows_.dims[0], &along = windows_.dims[1];
    const int64_t sizes[] = {rows, block.rows.size, block.tiles.size, down.extent - top, along.extent - left};
    const int64_t strides[] = {
        *joint_stride(product_.groups[kRows], kC),   down.strides[kC], layout.place, layout.channel, row,
        *joint_stride(product_.groups[kRows], kBias)};
    for (int64_t i = 0; i < block.images.size; ++i) {
      int64_t is_not_finite = 0;
      char* const to =
          c + place_of(windows_.images, kC, block.images.begin + i) + top * down.strides[kC] + left * item_;
      char* data[] = {to, sums + i * block.rows.size * row, bias, reinterpret_cast<char*>(&is_not_finite)};
      if (const int64_t status = run_part(product_.kernel, kWinogradResult, data, sizes, strides)) return status;
      if (is_not_finite) is_unfit_ = true;
    }
    return 0;
  }

  const PackedProduct& product_;
  const Tiling tiling_;
  const int64_t item_, m_;
  Windows windows_;
  bool is_convolution_ = false;
  Axis channels_{};
  int64_t height_ = 1, panels_ = 1;  // of A
  Tensor filters_;
  std::atomic<bool> is_unfit_ = false;  // filters with uneven taps, non-finite results
};

}  // namespace

std::optional<int64_t> run_winograd(const PackedProduct& product) {
  if (Convolution convolution(product); convolution.is_profitable()) return convolution.run();
  return run_winograd_gradient(product);
}

}  // namespace pellucid
