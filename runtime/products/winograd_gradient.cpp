#include "products/winograd_gradient.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>

#include "core/dtype.h"
#include "core/tensor.h"
#include "core/thread_pool.h"
#include "kernels/conversion.h"
#include "kernels/scratch.h"
#include "products/product_panels.h"
#include "products/winograd_tiles.h"

namespace pellucid {
namespace {

// C consists of filters, and sums run over window positions: the gradient of a convolution's weight.
class FilterGradient {
 public:
  explicit FilterGradient(const PackedProduct& product)
      : product_(product), tiling_(describe(product.kernel)), item_(tiling_.element_bytes),
        m_(points(product.groups[kRows])), windows_(product) {
    const bool has_axes = product.groups[kDepth].size() >= 2 && product.groups[kColumns].size() == 3;
    if (!has_axes || product.data[kBias] || !windows_.has_plain_rows()) return;
    AxisList taps = product.groups[kColumns], places = product.groups[kDepth];
    std::ranges::stable_sort(places, std::greater{}, [](const Axis& axis) { return axis.strides[kB]; });
    if (!windows_.find(places, taps, kC) || windows_.dims[1].strides[kA] != item_) return;
    channels_ = taps[0];
    row_bytes_ = ceil_div(channels_.extent * item_, kLine) * kLine;
    is_gradient_ = true;
  }

  bool is_profitable() const {
    return is_gradient_ && channels_.extent >= kLeastChannels && m_ >= kLeastChannels &&
           windows_.fill_tiles(kMostComputed) && windows_.all_tiles() >= kTilesOfSums && slice_bytes() <= kMostSumBytes;
  }

  std::optional<int64_t> run() {
    height_ = tiling_.panel_height(m_);
    bands_ = Cut(m_, ceil_div(ceil_div(m_, height_), kBandPanels), height_);
    groups_ = Cut(channels_.extent, ceil_div(channels_.extent, kGroupChannels), tiling_.width());
    windows_.cut(
        std::clamp(kTileBytes / (kTilePlaces * item_ * (bands_.piece + groups_.piece)), kLeastTiles, kMostTiles));
    const int64_t items = points(windows_.items), pieces = bands_.count * groups_.count, blocks = windows_.blocks();
    const int64_t most = std::min(ceil_div(kWinogradTasks, items * pieces), kMostSumBytes / slice_bytes());
    slices_ = Cut(blocks, std::clamp<int64_t>(blocks / kLeastBlocks, 1, most), 1);
    const int64_t elements[] = {slices_.count * slice_bytes()};
    sums_ = empty(elements, DType::UInt8);
    const int64_t status = parallel_blocks(items * slices_.count * pieces, [&](int64_t number) {
      const int64_t piece = number % pieces, rest = number / pieces, band = piece / groups_.count,
                    group = piece % groups_.count;
      return run_piece(rest / slices_.count, rest % slices_.count, {bands_.begin(band), bands_.size(band)},
                       {groups_.begin(group), groups_.size(group)});
    });
    if (status) return status;
    const int64_t parts = ceil_div(m_, kRowsTogether);
    const int64_t last = parallel_blocks(
        items * parts, [&](int64_t number) { return finish(number / parts, number % parts * kRowsTogether); });
    return is_not_finite_ ? std::nullopt : std::optional(last);
  }

 private:
  static constexpr int64_t kLeastChannels = 16;  // of the image and of C
  static constexpr int64_t kTilesOfSums = 256;   // for which transforming the sums is worth it
  static constexpr int64_t kMostSumBytes = 1 << 25;
  static constexpr int64_t kMostComputed = 125;  // computed positions in percent of those summed
  static constexpr int64_t kMostTiles = 192;     // per block
  static constexpr int64_t kLeastBlocks = 4;     // per slice, since its sums are stored separately
  static constexpr int64_t kBandPanels = 5;      // of A, per piece
  static constexpr int64_t kGroupChannels = 64;  // per piece
  static constexpr int64_t kRowsTogether = 16;   // rows of C written by one task

  int64_t slice_bytes() const { return points(windows_.items) * kTilePlaces * m_ * row_bytes_; }
  char* sums_of(int64_t item, int64_t slice, int64_t place) const {
    return sums_->host() + ((item * slices_.count + slice) * kTilePlaces + place) * m_ * row_bytes_;
  }

  // ------------------------------------------------------------ pieces: rows, channels and a slice of the blocks

  int64_t run_piece(int64_t item, int64_t slice, Range rows, Range channels) const {
    char* data[kProductOperands];
    std::copy_n(product_.data, kProductOperands, data);
    move_to(data, windows_.items, item);
    const int64_t row = *joint_stride(product_.groups[kRows], kA), most = windows_.most_tiles();
    const TileLayout layout(channels.size, most, tiling_), gradient_layout(rows.size, most, tiling_);
    const Scratch image(layout.bytes()), gradient(gradient_layout.bytes());
    const Scratch panels(
        static_cast<size_t>(ceil_div(channels.size, tiling_.width()) * tiling_.width() * most * item_));
    const int64_t first = slices_.begin(slice);
    for (int64_t number = first; number < first + slices_.size(slice); ++number) {
      const TileBlock block = windows_.block(number);
      const int64_t count = block.count();
      if (const int64_t status =
              windows_.transform_image(image.data(), layout, data[kB], channels, channels_.strides[kB], block))
        return status;
      if (const int64_t status = windows_.transform_gradient(gradient.data(), gradient_layout,
                                                             data[kA] + rows.begin * row, rows.size, row, block))
        return status;
      for (int64_t place = 0; place < kTilePlaces; ++place) {
        char* copy[] = {panels.data(), image.data() + place * layout.place};
        const int64_t copied[] = {count, channels.size, tiling_.vectors, 0}, steps[] = {item_, layout.channel};
        if (const int64_t status = run_part(product_.kernel, kPackMatrix, copy, copied, steps)) return status;
        char* const sums = sums_of(item, slice, place) + rows.begin * row_bytes_ + channels.begin * item_;
        char* operands[] = {sums, gradient.data() + place * gradient_layout.place, panels.data(), nullptr};
        const int64_t sizes[] = {rows.size, channels.size, count, height_},
                      strides[] = {row_bytes_, 0, 0, gradient_layout.channel, 0};
        if (const int64_t status = run_part(product_.kernel, kMultiply, operands, sizes, strides, number > first))
          return status;
      }
    }
    return 0;
  }

  // ------------------------------------------------------------ from sums to C

  // Adds the slices, transforms the sums, and stores the channels of each tap in C.
  int64_t finish(int64_t item, int64_t row) {
    const int64_t rows = std::min(kRowsTogether, m_ - row), place_bytes = rows * row_bytes_;
    const Scratch total(static_cast<size_t>(kTilePlaces * place_bytes)),
        taps(static_cast<size_t>(kAllTaps * place_bytes));
    std::memset(total.data(), 0,
                static_cast<size_t>(kTilePlaces * place_bytes));  // vectors of channels extend beyond the last one
    for (int64_t place = 0; place < kTilePlaces; ++place) {
      char* data[] = {total.data() + place * place_bytes, sums_of(item, 0, place) + row * row_bytes_, nullptr};
      const int64_t sizes[] = {rows, channels_.extent, slices_.count};
      const int64_t strides[] = {row_bytes_, row_bytes_, 0, 0, kTilePlaces * m_ * row_bytes_};
      if (const int64_t status = run_part(product_.kernel, kFinish, data, sizes, strides)) return status;
    }
    int64_t is_not_finite = 0;
    char* data[] = {taps.data(), total.data(), reinterpret_cast<char*>(&is_not_finite)};
    const int64_t sizes[] = {place_bytes}, strides[] = {place_bytes, place_bytes};
    if (const int64_t status = run_part(product_.kernel, kWinogradWeight, data, sizes, strides)) return status;
    if (is_not_finite) is_not_finite_ = true;
    const int64_t c_row = *joint_stride(product_.groups[kRows], kC);
    char* const c = product_.data[kC] + place_of(windows_.items, kC, item) + row * c_row;
    for (int64_t tap = 0; tap < kAllTaps; ++tap) {
      const Run run{{channels_.extent, rows}, {channels_.strides[kC], c_row}, {item_, row_bytes_}};
      convert(product_.dtype, c + windows_.tap_place(kC, tap), product_.dtype, taps.data() + tap * place_bytes, run);
    }
    return 0;
  }

  const PackedProduct& product_;
  const Tiling tiling_;
  const int64_t item_, m_;
  Windows windows_;
  bool is_gradient_ = false;
  Axis channels_{};
  int64_t height_ = 1, row_bytes_ = 0;  // of a panel of A; of the sums
  Cut bands_{1, 1, 1}, groups_{1, 1, 1}, slices_{1, 1, 1};
  Tensor sums_;  // of every slice and tile element: the image's channels for each row
  std::atomic<bool> is_not_finite_ = false;
};

}  // namespace

std::optional<int64_t> run_winograd_gradient(const PackedProduct& product) {
  if (FilterGradient gradient(product); gradient.is_profitable()) return gradient.run();
  return std::nullopt;
}

}  // namespace pellucid
