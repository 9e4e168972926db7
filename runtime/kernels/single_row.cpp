#include "kernels/single_row.h"

#include <algorithm>
#include <vector>

#include "core/thread_pool.h"
#include "kernels/gemm.h"
#include "kernels/product_panels.h"

namespace pellucid {
namespace {

constexpr int64_t kMostTaps = 4096;
constexpr int64_t kRunElements = 1 << 14;     // of k that are summed at a time

class SingleRow {
 public:
  explicit SingleRow(const PackedProduct& product)
      : product_(product), item_(static_cast<int64_t>(item_size(product.dtype))), batch_(product.groups[kBatch]),
        columns_(product.groups[kColumns]), depth_(product.groups[kDepth]) {}

  std::optional<int64_t> run() {
    const int64_t column_run = columns_.empty() ? 1 : columns_.back().extent, depth_run = depth_.empty() ? 1 : depth_.back().extent;
    if (depth_run > column_run && dots_fit()) return run_dots();
    if (taps_fit()) return run_taps();
    return {};
  }

 private:
  bool is_step(int64_t stride) const { return stride == item_ || stride == 2 * item_; }

  // `body(data)` at every point of the batch, which are `work` multiply-adds each.
  template <class Body>
  int64_t each_point(int64_t work, Body&& body) const {
    const int64_t count = points(batch_), together = ceil_div(kGrainProducts, std::max<int64_t>(work, 1));
    return parallel_blocks(ceil_div(count, together), [&](int64_t block) -> int64_t {
      const int64_t begin = block * together, end = std::min(count, begin + together);
      Walk walk(product_.data, batch_, begin);
      for (int64_t point = begin; point < end; ++point, walk.next())
        if (const int64_t status = body(walk.data())) return status;
      return 0;
    });
  }

  // ------------------------------------------------------------ along the columns

  bool taps_fit() const {
    const bool one_bias = !product_.data[kBias] || joint_stride(columns_, kBias) == 0;
    return !columns_.empty() && is_step(columns_.back().strides[kB]) && points(depth_) <= kMostTaps && one_bias;
  }

  int64_t run_taps() {
    const Axis inner = columns_.back();
    Axis rows{1, {}};
    columns_.pop_back();
    if (!columns_.empty()) {
      rows = columns_.back();
      columns_.pop_back();
    }
    batch_.insert(batch_.end(), columns_.begin(), columns_.end());
    const std::vector<int64_t> a_places = all_places(depth_, kA), b_places = all_places(depth_, kB);
    const auto k = static_cast<int64_t>(a_places.size());
    const int64_t sizes[] = {rows.extent, inner.extent, k};
    const int64_t strides[] = {inner.strides[kB], rows.strides[kC], rows.strides[kB]};
    product_.kernel.get();   // here, not on the threads: it may run Python
    return each_point(rows.extent * inner.extent * k, [&](char* const* at) {
      char* data[] = {at[kC], at[kA], at[kB], at[kBias], bytes(a_places.data()), bytes(b_places.data())};
      return run_part(product_.kernel, kTaps, data, sizes, strides);
    });
  }

  // ------------------------------------------------------------ along the depth

  bool dots_fit() const {
    return depth_.back().strides[kA] == item_ && is_step(depth_.back().strides[kB]) && !product_.data[kBias];
  }

  int64_t run_dots() {
    const Axis inner = depth_.back();
    depth_.pop_back();
    const std::vector<int64_t> a_places = all_places(depth_, kA), b_places = all_places(depth_, kB);
    const std::vector<int64_t> columns = all_places(columns_, kB);
    const auto rows = static_cast<int64_t>(a_places.size()), n = static_cast<int64_t>(columns.size());
    const int64_t strides[] = {inner.strides[kB], *joint_stride(columns_, kC)};
    const int64_t together = adds_to_result(product_.dtype) ? std::max<int64_t>(kRunElements / inner.extent, 1) : rows;
    product_.kernel.get();
    return each_point(rows * inner.extent * n, [&](char* const* at) -> int64_t {
      for (int64_t row = 0; row < rows; row += together) {
        char* data[] = {at[kC], at[kA], at[kB], bytes(&a_places[static_cast<size_t>(row)]), bytes(&b_places[static_cast<size_t>(row)]),
                        bytes(columns.data())};
        const int64_t sizes[] = {std::min(together, rows - row), inner.extent, n};
        if (const int64_t status = run_part(product_.kernel, kDots, data, sizes, strides, row > 0)) return status;
      }
      return 0;
    });
  }

  const PackedProduct& product_;
  const int64_t item_;
  AxisList batch_, columns_, depth_;
};

}  // namespace

std::optional<int64_t> run_single_row(const PackedProduct& product) { return SingleRow(product).run(); }

}  // namespace pellucid
