#include "products/depthwise_nhwc.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "core/tensor.h"
#include "core/thread_pool.h"
#include "kernels/conversion.h"
#include "kernels/scratch.h"
#include "products/gemm.h"
#include "products/product_panels.h"

namespace pellucid {
namespace {

constexpr int64_t kLeastLanes = 8;
constexpr int64_t kMostTaps = 1024;
constexpr int64_t kPiece = 64;   // lanes per task that sums over a long depth
constexpr int64_t kSlices = 16;  // the most slices of such a depth
constexpr int64_t kSliceDepth = 1024;

class ChannelLanes {
 public:
  explicit ChannelLanes(const PackedProduct& product)
      : product_(product), item_(static_cast<int64_t>(item_size(product.dtype))), batch_(product.groups[kBatch]),
        columns_(product.groups[kColumns]), depth_(product.groups[kDepth]) {
    const auto found = std::ranges::find(batch_, item_, [](const Axis& axis) { return axis.strides[kB]; });
    if (found == batch_.end()) return;
    lanes_ = *found;
    batch_.erase(found);
  }

  std::optional<int64_t> run() {
    if (lanes_.extent < kLeastLanes || product_.accumulates || product_.data[kBias] ||
        points(product_.groups[kRows]) != 1 || columns_.empty())
      return {};
    std::ranges::stable_sort(columns_, std::greater{}, [](const Axis& axis) { return axis.strides[kB]; });
    if (points(depth_) <= kMostTaps && lanes_.strides[kC] == item_) return run_taps();
    if (batch_.empty() && lanes_.strides[kA] == item_ && points(columns_) <= kMostTaps) return run_sums();
    return {};
  }

 private:
  // ------------------------------------------------------------ few k: one line of C after the other

  std::optional<int64_t> run_taps() {
    const bool is_broadcast = std::ranges::none_of(batch_, [](const Axis& axis) { return axis.strides[kA] != 0; });
    const bool packs = lanes_.strides[kA] != item_;
    if (packs && !is_broadcast) return {};
    const Axis line = columns_.back();
    columns_.pop_back();
    batch_.insert(batch_.end(), columns_.begin(), columns_.end());
    std::vector<int64_t> a_places = all_places(depth_, kA);
    const std::vector<int64_t> b_places = all_places(depth_, kB);
    const auto k = static_cast<int64_t>(a_places.size());
    const Scratch packed(static_cast<size_t>(packs ? k * lanes_.extent * item_ : 0));
    if (packs) pack(packed.data(), a_places);
    const int64_t count = points(batch_),
                  together = ceil_div(kGrainProducts, std::max<int64_t>(line.extent * lanes_.extent * k, 1));
    product_.kernel.get();  // here, not on the threads: it may run Python
    return parallel_blocks(ceil_div(count, together), [&](int64_t block) -> int64_t {
      Walk walk(product_.data, batch_, block * together);
      for (int64_t number = block * together; number < std::min(count, (block + 1) * together); ++number, walk.next()) {
        char* const* const at = walk.data();
        char* data[] = {at[kC], packs ? packed.data() : at[kA], at[kB], bytes(a_places.data()), bytes(b_places.data())};
        const int64_t sizes[] = {line.extent, lanes_.extent, k}, strides[] = {line.strides[kC], line.strides[kB]};
        if (const int64_t status = run_part(product_.kernel, kLanes, data, sizes, strides)) return status;
      }
      return 0;
    });
  }

  // Packs the lanes of every k contiguously.
  void pack(char* to, std::vector<int64_t>& places) const {
    for (size_t k = 0; k < places.size(); ++k) {
      const int64_t place = static_cast<int64_t>(k) * lanes_.extent * item_;
      const Run run{{lanes_.extent, 1}, {item_, 0}, {lanes_.strides[kA], 0}};
      convert(product_.dtype, to + place, product_.dtype, product_.data[kA] + places[k], run);
      places[k] = place;
    }
  }

  // ------------------------------------------------------------ many k: sums for every column

  // The depth is split into slices of whole lines; the sums of a slice are accumulated line by line.
  int64_t run_sums() {
    std::ranges::stable_sort(depth_, std::greater{}, [](const Axis& axis) { return axis.strides[kB]; });
    const Axis row = columns_.back();
    columns_.pop_back();
    const int64_t num_rows = points(columns_), width = num_rows * row.extent * lanes_.extent;
    const bool adds = adds_to_result(product_.dtype);
    const int64_t line = adds && !depth_.empty() ? depth_.back().extent : points(depth_), lines = points(depth_) / line;
    const Cut slices(lines, std::clamp<int64_t>(points(depth_) / kSliceDepth, 1, adds ? kSlices : 1), 1),
        pieces(lanes_.extent, ceil_div(lanes_.extent, kPiece), 1);
    const Scratch sums(static_cast<size_t>(slices.count * width * item_)), total(static_cast<size_t>(width * item_));
    const std::vector<int64_t> a_places = all_places(depth_, kA), b_places = all_places(depth_, kB);
    product_.kernel.get();
    const auto task = [&](int64_t number) -> int64_t {
      const int64_t slice = number / pieces.count, lane = pieces.begin(number % pieces.count);
      for (int64_t k = slices.begin(slice); k < slices.begin(slice) + slices.size(slice); ++k)
        for (int64_t r = 0; r < num_rows; ++r) {
          char* to = sums.data() + ((slice * num_rows + r) * row.extent * lanes_.extent + lane) * item_;
          char* data[] = {
              to, product_.data[kA] + lane * item_, product_.data[kB] + place_of(columns_, kB, r) + lane * item_,
              bytes(&a_places[static_cast<size_t>(k * line)]), bytes(&b_places[static_cast<size_t>(k * line)])};
          const int64_t sizes[] = {row.extent, pieces.size(number % pieces.count), line};
          const int64_t strides[] = {lanes_.extent * item_, row.strides[kB]};
          if (const int64_t status = run_part(product_.kernel, kLanes, data, sizes, strides, k > slices.begin(slice)))
            return status;
        }
      return 0;
    };
    if (const int64_t status = parallel_blocks(slices.count * pieces.count, task)) return status;
    if (slices.count > 1) {
      char* data[] = {total.data(), sums.data(), nullptr};
      const int64_t sizes[] = {1, width, slices.count}, strides[] = {0, 0, 0, 0, width * item_};
      if (const int64_t status = run_part(product_.kernel, kFinish, data, sizes, strides)) return status;
    }
    const char* from = slices.count > 1 ? total.data() : sums.data();
    for (int64_t r = 0; r < num_rows; ++r, from += row.extent * lanes_.extent * item_) {
      const Run run{{lanes_.extent, row.extent}, {lanes_.strides[kC], row.strides[kC]}, {item_, lanes_.extent * item_}};
      convert(product_.dtype, product_.data[kC] + place_of(columns_, kC, r), product_.dtype, from, run);
    }
    return 0;
  }

  const PackedProduct& product_;
  const int64_t item_;
  AxisList batch_, columns_, depth_;
  Axis lanes_{};
};

}  // namespace

std::optional<int64_t> run_channel_lanes(const PackedProduct& product) { return ChannelLanes(product).run(); }

}  // namespace pellucid
