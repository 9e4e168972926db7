#include "products/depthwise_nchw.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <vector>

#include "core/thread_pool.h"
#include "kernels/scratch.h"
#include "products/gemm.h"
#include "products/product_panels.h"

namespace pellucid {
namespace {

constexpr int64_t kMostTaps = 4096;
constexpr int64_t kRunElements = 1 << 14;  // number of k that are summed at a time
constexpr int64_t kCopyBytes = 1 << 18;    // size of a padded channel that stays in the L2 cache

// A zero-padded copy of the image channel that one point of the batch reads.
class ChannelCopy {
 public:
  // Whether the axes move along zero-padded dims only. If so, rewrites their strides for the copy.
  bool place(const Beyond& beyond, AxisList& columns, AxisList& depth, int64_t item) {
    if (beyond.operand != kB || beyond.dims > 2) return false;
    for (int d = 0; d < beyond.dims; ++d) {
      Dim& dim = dims_[2 - beyond.dims + d];
      dim = {beyond.firsts[d], beyond.sizes[d], beyond.firsts[d], 1, 0, item};
      for (const AxisList* axes : {&columns, &depth})
        for (const Axis& axis : *axes) {
          const int64_t reach = axis.steps[d] * (axis.extent - 1);
          dim.low += std::min<int64_t>(reach, 0);
          dim.extent += std::abs(reach);
          if (axis.steps[d]) dim.from = axis.strides[kB] / axis.steps[d];
        }
    }
    dims_[0].to = dims_[1].extent * item;
    if (dims_[1].from != item || dims_[0].extent * dims_[0].to > kCopyBytes) return false;
    for (AxisList* axes : {&columns, &depth})
      for (Axis& axis : *axes) {
        int64_t from = 0, to = 0;
        for (int d = 0; d < beyond.dims; ++d) {
          const Dim& dim = dims_[2 - beyond.dims + d];
          from += axis.steps[d] * dim.from;
          to += axis.steps[d] * dim.to;
        }
        if (from != axis.strides[kB]) return false;
        axis.strides[kB] = to;
      }
    return true;
  }

  size_t bytes() const { return static_cast<size_t>(dims_[0].extent * dims_[0].to); }

  // Copies what a point reads into memory whose padding is zero; returns the address of its first element.
  char* fill(char* to, const char* from) const {
    const Dim &down = dims_[0], &along = dims_[1];
    const Range rows = down.inside(), places = along.inside();
    const char* const start = from + (down.low - down.first) * down.from + (along.low - along.first) * along.from;
    if (places.size > 0)
      for (int64_t row = rows.begin; row < rows.begin + rows.size; ++row)
        std::memcpy(to + row * down.to + places.begin * along.to, start + row * down.from + places.begin * along.from,
                    static_cast<size_t>(places.size * along.to));
    return to + (down.first - down.low) * down.to + (along.first - along.low) * along.to;
  }

 private:
  struct Dim {
    int64_t first = 0, size = 1;  // the first index, and the size of the dim
    int64_t low = 0, extent = 1;  // of the copy: its first index, and its extent
    int64_t from = 0, to = 0;     // byte strides in the image and in the copy
    Range inside() const {
      const int64_t begin = std::max<int64_t>(0, -low);
      return {begin, std::min(extent, size - low) - begin};
    }
  };
  Dim dims_[2];
};

class SingleRow {
 public:
  explicit SingleRow(const PackedProduct& product)
      : product_(product), item_(static_cast<int64_t>(item_size(product.dtype))), batch_(product.groups[kBatch]),
        columns_(product.groups[kColumns]), depth_(product.groups[kDepth]) {}

  std::optional<int64_t> run() {
    const bool leaves = product_.beyond.dims > 0;
    const int64_t column_run = columns_.empty() ? 1 : columns_.back().extent,
                  depth_run = depth_.empty() ? 1 : depth_.back().extent;
    if (depth_run > column_run && dots_fit()) return leaves ? std::nullopt : std::optional(run_dots());
    ChannelCopy copy;
    if (leaves && (std::ranges::any_of(batch_, moves) || !copy.place(product_.beyond, columns_, depth_, item_)))
      return {};
    if (!taps_fit()) return {};
    return run_taps(leaves ? &copy : nullptr);
  }

 private:
  bool is_step(int64_t stride) const { return stride == item_ || stride == 2 * item_; }

  // Runs `body(data)` at every point of the batch, each of `work` multiply-adds. B is copied first if `copy` is given.
  template <class Body>
  int64_t each_point(int64_t work, const ChannelCopy* copy, Body&& body) const {
    const int64_t count = points(batch_), together = ceil_div(kGrainProducts, std::max<int64_t>(work, 1));
    return parallel_blocks(ceil_div(count, together), [&](int64_t block) -> int64_t {
      const int64_t begin = block * together, end = std::min(count, begin + together);
      Walk walk(product_.data, batch_, begin);
      const Scratch memory(copy ? copy->bytes() : 0);
      if (copy) std::memset(memory.data(), 0, copy->bytes());
      for (int64_t point = begin; point < end; ++point, walk.next()) {
        char* data[kProductOperands];
        std::copy_n(walk.data(), kProductOperands, data);
        if (copy) data[kB] = copy->fill(memory.data(), data[kB]);
        if (const int64_t status = body(data)) return status;
      }
      return 0;
    });
  }

  // ------------------------------------------------------------ along the columns

  bool taps_fit() const {
    const bool one_bias = !product_.data[kBias] || joint_stride(columns_, kBias) == 0;
    return !columns_.empty() && is_step(columns_.back().strides[kB]) && points(depth_) <= kMostTaps && one_bias;
  }

  int64_t run_taps(const ChannelCopy* copy) {
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
    product_.kernel.get();  // here, not on the threads: it may run Python
    return each_point(rows.extent * inner.extent * k, copy, [&](char* const* at) {
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
    return each_point(rows * inner.extent * n, nullptr, [&](char* const* at) -> int64_t {
      for (int64_t row = 0; row < rows; row += together) {
        char* data[] = {at[kC],
                        at[kA],
                        at[kB],
                        bytes(&a_places[static_cast<size_t>(row)]),
                        bytes(&b_places[static_cast<size_t>(row)]),
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
