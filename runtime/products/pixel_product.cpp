#include "products/pixel_product.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/dtype.h"
#include "core/tensor.h"
#include "core/thread_pool.h"
#include "products/gemm.h"
#include "products/product_panels.h"

namespace pellucid {
namespace {

constexpr int64_t kTaskRows = 224;     // of C, which use a block of B while it is in the L2 cache
constexpr int64_t kTaskColumns = 256;  // of that block
constexpr int64_t kTasks = 16;         // the minimum for a product, if its rows allow
constexpr int64_t kLeastTaskRows = 56;
constexpr int64_t kLeastLine = 5;  // minimum of equally spaced rows
constexpr int64_t kLeastRun = 12;  // minimum along the depth
constexpr int64_t kLeastColumns = 12;
constexpr int64_t kColumnsPerTask = 64;  // columns of B packed by one task

// Collapses axes that are contiguous for the given operands.
AxisList joined(AxisList axes, std::initializer_list<int> operands) {
  for (size_t k = axes.size(); k-- > 1;) {
    Axis &outer = axes[k - 1], &inner = axes[k];
    const auto follows = [&](int operand) { return outer.strides[operand] == inner.strides[operand] * inner.extent; };
    if (!std::ranges::all_of(operands, follows)) continue;
    inner.extent *= outer.extent;
    axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(k) - 1);
  }
  return axes;
}

class PixelProduct {
 public:
  explicit PixelProduct(const PackedProduct& product)
      : product_(product), tiling_(describe(product.kernel)), item_(static_cast<int64_t>(item_size(product.dtype))),
        lines_(joined(product.groups[kRows], {kC, kA, kBias})), depth_(product.groups[kDepth]) {
    std::copy_n(product.data, kProductOperands, data_);
    if (lines_.empty() || depth_.empty()) return;
    line_ = lines_.back();
    lines_.pop_back();
    order_depth();
  }

  bool fits() const {
    const auto& columns = product_.groups[kColumns];
    return !lines_.empty() && product_.beyond.operand < 0 && !tiling_.is_narrow && item_ == tiling_.element_bytes &&
           line_.extent >= kLeastLine && run_ >= kLeastRun && points(columns) >= kLeastColumns &&
           joint_stride(columns, kC) == item_ && joint_stride(columns, kBias) && line_.strides[kA] != 0;
  }

  int64_t run() {
    n_ = points(columns());
    height_ = ceil_div(line_.extent, ceil_div(line_.extent, tiling_.rows));
    cut_depth();
    pack_b();
    const int64_t items = points(product_.groups[kBatch]), lines = points(lines_);
    const auto work = static_cast<double>(items * lines * line_.extent) * static_cast<double>(n_ * points(depth_));
    const Cut wide(n_, ceil_div(n_, kTaskColumns), tiling_.width());
    const int64_t wanted =
        std::max(ceil_div(lines * line_.extent, kTaskRows),
                 std::min(ceil_div(kTasks, items * wide.count), lines * line_.extent / kLeastTaskRows));
    const Cut tall(lines, wanted, 1);
    const auto task = [&](int64_t number) {
      const int64_t w = number % wide.count, t = number / wide.count % tall.count,
                    item = number / (wide.count * tall.count);
      return run_task(item, {tall.begin(t), tall.size(t)}, {wide.begin(w), wide.size(w)});
    };
    const int64_t count = items * wide.count * tall.count;
    if (work >= kParallelProducts) return parallel_blocks(count, task);
    for (int64_t number = 0; number < count; ++number)
      if (const int64_t status = task(number)) return status;
    return 0;
  }

 private:
  std::span<const Axis> columns() const { return product_.groups[kColumns]; }

  // Sums may be reordered: forwards through A, the longest run innermost.
  void order_depth() {
    for (Axis& axis : depth_) {
      if (axis.strides[kA] >= 0) continue;
      for (int operand : {kA, kB}) {
        data_[operand] += (axis.extent - 1) * axis.strides[operand];
        axis.strides[operand] = -axis.strides[operand];
      }
    }
    std::ranges::stable_sort(depth_, std::greater{}, [](const Axis& axis) { return axis.strides[kA]; });
    outer_ = depth_.size();
    for (; outer_ > 0 && depth_[outer_ - 1].strides[kA] == run_ * item_; --outer_) run_ *= depth_[outer_ - 1].extent;
  }

  // ------------------------------------------------------------ blocks of the depth: parts of one run of A

  struct Block {
    Range depth;
    int64_t place;  // offset in A
  };

  void cut_depth() {
    const std::span<const Axis> outer = std::span(depth_).first(outer_);
    const Cut parts(run_, ceil_div(run_, tiling_.depth), 16);
    for (int64_t number = 0; number < points(outer); ++number)
      for (int64_t part = 0; part < parts.count; ++part)
        blocks_.push_back({{number * run_ + parts.begin(part), parts.size(part)},
                           place_of(outer, kA, number) + parts.begin(part) * item_});
  }

  // ------------------------------------------------------------ panels of B: block by block

  int64_t b_row_bytes() const { return ceil_div(n_, tiling_.width()) * tiling_.width() * item_; }
  bool broadcasts_b() const {
    return std::ranges::none_of(product_.groups[kBatch], [](const Axis& axis) { return axis.strides[kB] != 0; });
  }

  char* panel_of_b(int64_t copy, const Block& block, int64_t column) const {
    return packed_b_->host() + (copy * points(depth_) + block.depth.begin) * b_row_bytes() +
           column * block.depth.size * item_;
  }

  void pack_b() {
    copies_ = broadcasts_b() ? 1 : points(product_.groups[kBatch]);
    const int64_t elements[] = {copies_ * points(depth_) * b_row_bytes()};
    packed_b_ = empty(elements, DType::UInt8);
    const DepthPlaces places(columns(), depth_, kB, false);
    const Cut columns_of_task(n_, ceil_div(n_, kColumnsPerTask), tiling_.width());
    parallel_blocks(copies_ * columns_of_task.count, [&](int64_t number) -> int64_t {
      const int64_t copy = number / columns_of_task.count, task = number % columns_of_task.count;
      const Range n{columns_of_task.begin(task), columns_of_task.size(task)};
      std::vector<int64_t> column_places(static_cast<size_t>(n.size));
      places_of(columns(), kB, n.begin, n.size, column_places.data());
      Packer packer(product_.kernel, tiling_, kB, columns(), depth_, places, item_, tiling_.vectors, tiling_.width());
      for (const Block& block : blocks_) {
        packer.start(block.depth);
        packer.pack(panel_of_b(copy, block, n.begin), data_[kB] + place_of(product_.groups[kBatch], kB, copy),
                    column_places);
      }
      return 0;
    });
  }

  // ------------------------------------------------------------ tasks: some lines of C, some columns

  int64_t run_task(int64_t item, Range lines, Range n) const {
    char* data[kProductOperands];
    std::copy_n(data_, kProductOperands, data);
    move_to(data, product_.groups[kBatch], item);
    data[kC] += n.begin * item_;
    const int64_t bias_column = *joint_stride(columns(), kBias);
    if (data[kBias]) data[kBias] += n.begin * bias_column;
    for (size_t b = 0; b < blocks_.size(); ++b) {
      const Block& block = blocks_[b];
      char* const panels = panel_of_b(copies_ == 1 ? 0 : item, block, n.begin);
      const bool accumulates = b > 0 || product_.accumulates, is_last = b + 1 == blocks_.size();
      for (int64_t number = lines.begin; number < lines.begin + lines.size; ++number) {
        char* bias = is_last && data[kBias] ? data[kBias] + place_of(lines_, kBias, number) : nullptr;
        char* operands[] = {data[kC] + place_of(lines_, kC, number),
                            data[kA] + place_of(lines_, kA, number) + block.place, panels, bias};
        const int64_t sizes[] = {line_.extent, n.size, block.depth.size, height_};
        const int64_t strides[] = {line_.strides[kC], line_.strides[kBias], bias_column, line_.strides[kA], 0};
        if (const int64_t status = run_part(product_.kernel, kMultiply, operands, sizes, strides, accumulates))
          return status;
      }
    }
    return 0;
  }

  const PackedProduct& product_;
  const Tiling tiling_;
  const int64_t item_;
  char* data_[kProductOperands];  // at the start of a depth that runs forwards
  AxisList lines_;                // of the rows, without the last axis:
  Axis line_{};
  AxisList depth_;
  size_t outer_ = 0;  // axes of the depth outside a run
  int64_t run_ = 1;
  int64_t n_ = 0, height_ = 0, copies_ = 1;
  std::vector<Block> blocks_;
  Tensor packed_b_;
};

}  // namespace

std::optional<int64_t> run_pixel_product(const PackedProduct& product) {
  PixelProduct pixels(product);
  return pixels.fits() ? std::optional(pixels.run()) : std::nullopt;
}

}  // namespace pellucid
