#include "products/padded_image.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "core/dtype.h"
#include "core/tensor.h"
#include "core/thread_pool.h"
#include "kernels/scratch.h"
#include "products/product_panels.h"

namespace pellucid {
namespace {

constexpr int64_t kImageBytes = 3 << 16;  // of a copy that stays in the L2 cache
constexpr int64_t kGroupDepth = 192;      // terms that are summed before they are added to the total
constexpr int64_t kLeastDepth = 128;
constexpr int64_t kLeastRows = 8;
constexpr int64_t kLeastTaps = 3;
// The cost of packing windows, in rows of C, and of this copy, in hundredths of the product's cost.
constexpr int64_t kWindowRows = 8, kImageCopy = 3;

class PaddedImage {
 public:
  explicit PaddedImage(const PackedProduct& product)
      : product_(product), tiling_(describe(product.kernel)), item_(static_cast<int64_t>(item_size(product.dtype))),
        m_(points(product.groups[kRows])), columns_(product.groups[kColumns]) {
    is_image_ = product.beyond.operand == kB && product.beyond.dims <= 2 && split_axes();
    if (is_image_) choose_rows();
  }

  bool is_profitable() const {
    if (!is_image_ || m_ < kLeastRows || taps_.empty() || points(taps_) < kLeastTaps ||
        points(taps_) * channels_.extent < kLeastDepth)
      return false;
    const int64_t computed = ceil_div(places_of_rows(rows_together_), tiling_.width()) * tiling_.width();
    const int64_t used = rows_together_ * width_;
    const bool fits =
        std::max(channels_.extent * channel_bytes(rows_together_), m_ * computed * item_) <= 2 * kImageBytes;
    return fits && (computed - used) * 100 + kImageCopy * used < kWindowRows * 100 * used / m_;
  }

  int64_t run() {
    pack_a();
    const Cut chunks(height_, ceil_div(height_, rows_together_), 1);
    const int64_t count = points(product_.groups[kBatch]) * points(outer_) * chunks.count;
    return parallel_blocks(count, [&](int64_t number) {
      const int64_t chunk = number % chunks.count, image = number / chunks.count;
      return run_rows(image, {chunks.begin(chunk), chunks.size(chunk)});
    });
  }

 private:
  // ------------------------------------------------------------ classifying the axes

  bool split_axes() {
    const int dims = product_.beyond.dims;
    if (static_cast<size_t>(dims) > columns_.size() || std::ranges::any_of(product_.groups[kBatch], moves))
      return false;
    outer_ = std::span(columns_).first(columns_.size() - static_cast<size_t>(dims));
    if (std::ranges::any_of(outer_, moves) || !joint_stride(product_.groups[kRows], kA)) return false;
    if (!broadcasts_a() && !has_own_a()) return false;
    const std::span<const Axis> image = std::span(columns_).subspan(outer_.size());
    for (int d = 0; d < dims; ++d) {
      for (int other = 0; other < dims; ++other)
        if (image[static_cast<size_t>(d)].steps[other] != (d == other)) return false;
      strides_[2 - dims + d] = image[static_cast<size_t>(d)].strides[kB];
    }
    width_ = image.back().extent;
    height_ = dims == 2 ? image[0].extent : 1;
    c_row_ = dims == 2 ? image[0].strides[kC] : 0;
    std::vector<Axis> channels;
    for (const Axis& axis : product_.groups[kDepth]) (moves(axis) ? taps_ : channels).push_back(axis);
    if (channels.size() != 1 || strides_[1] != item_ || item_ != tiling_.element_bytes) return false;
    channels_ = channels[0];
    for (int d = 0; d < dims; ++d) place_dim(d, 2 - dims + d);
    return true;
  }

  // Where the windows start and how far they reach in one dim: 0 for rows, 1 for pixels in a row.
  void place_dim(int number, int dim) {
    int64_t high = 0;
    low_[dim] = 0;
    for (const Axis& axis : taps_) {
      const int64_t reach = axis.steps[number] * (axis.extent - 1);
      (reach < 0 ? low_[dim] : high) += reach;
    }
    reach_[dim] = high - low_[dim];
    first_[dim] = product_.beyond.firsts[number];
    size_[dim] = product_.beyond.sizes[number];
  }

  // ------------------------------------------------------------ the copy: rows of every channel

  int64_t row_places() const { return width_ + reach_[1]; }
  // The pixels of some rows of C, including the padding between them.
  int64_t places_of_rows(int64_t rows) const { return (rows - 1) * row_places() + width_; }

  // Bytes of a channel: an odd number of cache lines, so that channels do not compete for cache sets.
  int64_t channel_bytes(int64_t rows) const {
    const int64_t tile = ceil_div(places_of_rows(rows), tiling_.width()) * tiling_.width();
    const int64_t places = tile + reach_[0] * row_places() + reach_[1];
    return (ceil_div(places * item_, kLine) | 1) * kLine;
  }

  void choose_rows() {
    const int64_t fitting = kImageBytes / (channels_.extent * row_places() * item_) - reach_[0];
    const int64_t most = std::clamp<int64_t>(fitting, 1, height_);
    rows_together_ = Cut(height_, ceil_div(height_, most), 1).piece;
  }

  // Rows are short: a call of memcpy would cost more than the copy.
  static void copy_bytes(char* to, const char* from, int64_t count) {
    constexpr int64_t kStep = 32;
    if (count < kStep) return static_cast<void>(std::memcpy(to, from, static_cast<size_t>(count)));
    for (int64_t at = 0; at < count - kStep; at += kStep) std::memcpy(to + at, from + at, kStep);
    std::memcpy(to + count - kStep, from + count - kStep, kStep);
  }

  void copy_rows(char* to, const char* from, Range rows) const {
    const int64_t channel = channel_bytes(rows.size), count = rows.size + reach_[0];
    std::memset(to, 0, static_cast<size_t>(channels_.extent * channel));
    const int64_t top = rows.begin + low_[0], left = low_[1];  // at the first point of all axes
    const int64_t begin = std::max<int64_t>(0, -(first_[0] + top)), end = std::min(count, size_[0] - (first_[0] + top));
    const int64_t before = std::max<int64_t>(0, -(first_[1] + left));
    const int64_t inside = std::min(row_places(), size_[1] - (first_[1] + left)) - before;
    if (inside <= 0) return;
    const char* const start = from + top * strides_[0] + (left + before) * strides_[1];
    for (int64_t c = 0; c < channels_.extent; ++c)
      for (int64_t row = begin; row < end; ++row)
        copy_bytes(to + c * channel + (row * row_places() + before) * item_,
                   start + c * channels_.strides[kB] + row * strides_[0], inside * item_);
  }

  // ------------------------------------------------------------ panels of A: tap by tap, all channels of each

  bool broadcasts_a() const {
    return std::ranges::none_of(product_.groups[kBatch], [](const Axis& axis) { return axis.strides[kA] != 0; });
  }
  bool has_own_a() const {
    return std::ranges::none_of(product_.groups[kBatch], [](const Axis& axis) { return axis.strides[kA] == 0; });
  }

  char* panel_of_a(int64_t item, Range taps, int64_t panel) const {
    return packed_a_->host() + ((item * points(taps_) + taps.begin) * panels_ + panel * taps.size) * channels_.extent *
                                   tiling_.a_row_bytes();
  }

  void pack_a() {
    height_of_panel_ = tiling_.panel_height(m_);
    panels_ = ceil_div(m_, height_of_panel_);
    groups_ = Cut(points(taps_), ceil_div(points(taps_) * channels_.extent, kGroupDepth), 1);
    items_ = broadcasts_a() ? 1 : points(product_.groups[kBatch]);
    const int64_t elements[] = {items_ * points(taps_) * panels_ * channels_.extent * tiling_.a_row_bytes()};
    packed_a_ = empty(elements, DType::UInt8);
    parallel_blocks(items_ * groups_.count, [&](int64_t number) {
      const int64_t group = number % groups_.count;
      return pack_group(number / groups_.count, {groups_.begin(group), groups_.size(group)});
    });
    tap_places_.resize(static_cast<size_t>(points(taps_)));
    for (size_t tap = 0; tap < tap_places_.size(); ++tap) {
      int64_t rest = static_cast<int64_t>(tap), down = -low_[0], along = -low_[1];
      for (size_t k = taps_.size(); k--; rest /= taps_[k].extent) {
        const int64_t index = rest % taps_[k].extent;
        along += index * taps_[k].steps[product_.beyond.dims - 1];
        if (product_.beyond.dims == 2) down += index * taps_[k].steps[0];
      }
      tap_places_[tap] = (down * row_places() + along) * item_;
    }
  }

  int64_t pack_group(int64_t item, Range taps) const {
    const int64_t row = *joint_stride(product_.groups[kRows], kA);
    for (int64_t panel = 0; panel < panels_; ++panel)
      for (int64_t tap = 0; tap < taps.size; ++tap) {
        const int64_t first = panel * height_of_panel_;
        char* const from =
            product_.data[kA] + place_of(product_.groups[kBatch], kA, item) + place_of(taps_, kA, taps.begin + tap);
        char* data[] = {panel_of_a(item, taps, panel) + tap * channels_.extent * tiling_.a_row_bytes(),
                        from + first * row};
        const int64_t sizes[] = {channels_.extent, std::min(height_of_panel_, m_ - first), tiling_.vectors_of_a, 0};
        const int64_t strides[] = {channels_.strides[kA], row};
        if (const int64_t status = run_part(product_.kernel, kPackMatrix, data, sizes, strides)) return status;
      }
    return 0;
  }

  // ------------------------------------------------------------ tiles of C

  int64_t run_rows(int64_t image, Range rows) {
    char* data[kProductOperands];
    std::copy_n(product_.data, kProductOperands, data);
    move_to(data, product_.groups[kBatch], image / points(outer_));
    move_to(data, outer_, image % points(outer_));
    const int64_t item = items_ == 1 ? 0 : image / points(outer_), channel = channel_bytes(rows.size);
    const Scratch copy(static_cast<size_t>(channels_.extent * channel));
    copy_rows(copy.data(), data[kB], rows);
    const int64_t row = ceil_div(places_of_rows(rows.size), tiling_.width()) * tiling_.width() * item_;
    const Scratch sums(static_cast<size_t>(m_ * row));
    for (int64_t place = 0; place < row; place += tiling_.width() * item_)
      if (const int64_t status = sum_tile(item, copy.data() + place, channel, {sums.data() + place, row}))
        return status;
    return finish(data, rows, {sums.data(), row});
  }

  struct Sums {
    char* start;
    int64_t row;
  };

  int64_t sum_tile(int64_t item, char* b, int64_t channel, Sums sums) const {
    for (int64_t number = 0; number < groups_.count; ++number) {
      const Range taps{groups_.begin(number), groups_.size(number)};
      const int64_t* const places = &tap_places_[static_cast<size_t>(taps.begin)];
      char* data[] = {sums.start, panel_of_a(item, taps, 0), b, reinterpret_cast<char*>(const_cast<int64_t*>(places))};
      const int64_t sizes[] = {m_, channels_.extent, taps.size, height_of_panel_}, strides[] = {sums.row, channel};
      if (const int64_t status = run_part(product_.kernel, kMultiplyRuns, data, sizes, strides, number > 0))
        return status;
    }
    return 0;
  }

  // Stores the sums that are elements of C: one row of A after the other, which is an image in C.
  int64_t finish(char* const* data, Range rows, Sums sums) const {
    const int64_t m_c = *joint_stride(product_.groups[kRows], kC),
                  m_bias = *joint_stride(product_.groups[kRows], kBias);
    const int64_t bias_row = product_.beyond.dims == 2 ? columns_[columns_.size() - 2].strides[kBias] : 0;
    const int64_t sizes[] = {rows.size, width_, 1};
    const int64_t strides[] = {c_row_, row_places() * item_, bias_row, columns_.back().strides[kBias], 0};
    for (int64_t row = 0; row < m_; ++row) {
      char* const bias = data[kBias] ? data[kBias] + row * m_bias + rows.begin * bias_row : nullptr;
      char* operands[] = {data[kC] + row * m_c + rows.begin * c_row_, sums.start + row * sums.row, bias};
      if (const int64_t status = run_part(product_.kernel, kFinish, operands, sizes, strides, product_.accumulates))
        return status;
    }
    return 0;
  }

  const PackedProduct& product_;
  const Tiling tiling_;
  const int64_t item_, m_;
  const AxisList& columns_;
  bool is_image_ = false;
  std::span<const Axis> outer_;  // of the columns: images
  AxisList taps_;
  Axis channels_{};
  int64_t width_ = 1, height_ = 1, c_row_ = 0;  // of C
  int64_t strides_[2] = {}, low_[2] = {}, reach_[2] = {}, first_[2] = {},
          size_[2] = {1, 1};  // of B: rows, pixels in a row
  int64_t rows_together_ = 1;
  int64_t height_of_panel_ = 1, panels_ = 1, items_ = 1;
  Cut groups_{1, 1, 1};              // of taps
  std::vector<int64_t> tap_places_;  // offsets in the copy
  Tensor packed_a_;
};

}  // namespace

bool reads_padded_image(const PackedProduct& product) {
  return category(product.dtype) == DTypeCategory::Floating && PaddedImage(product).is_profitable();
}

int64_t run_padded_image(const PackedProduct& product) { return PaddedImage(product).run(); }

}  // namespace pellucid
