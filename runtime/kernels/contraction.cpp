#include "kernels/contraction.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/tensor.h"
#include "core/thread_pool.h"
#include "kernels/conversion.h"
#include "kernels/gemm.h"
#include "kernels/scratch.h"

namespace pellucid {
namespace {

constexpr int64_t kBlockElements = 1 << 17;     // of a copied block: it stays in the L2 cache
constexpr int64_t kBlockDepth = 1024;
constexpr int64_t kWholeElements = 1 << 20;     // an operand up to this size is copied once
constexpr int64_t kFewRows = 16;                // of a product that are not worth a call of their own
constexpr int64_t kGrainProducts = 1 << 18;     // multiply-adds of a block of small products
constexpr int64_t kLargeProducts = 1 << 22;     // a product that is split over threads by itself
enum Operand { kC, kA, kB, kBias };
enum Group { kBatch, kRows, kColumns, kDepth };

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Some axes, outermost first, and how every operand moves along them.
struct Axis {
  int64_t extent;
  int64_t strides[kProductOperands];
};
using AxisList = std::vector<Axis>;

int64_t points(std::span<const Axis> axes) {
  int64_t count = 1;
  for (const Axis& axis : axes) count *= axis.extent;
  return count;
}

// The stride of the operand if the axes are one axis to it.
std::optional<int64_t> joint_stride(std::span<const Axis> axes, int operand) {
  std::optional<int64_t> stride;
  int64_t next = 0;
  for (size_t k = axes.size(); k--;) {
    if (axes[k].extent == 1) continue;
    if (stride && axes[k].strides[operand] != next) return std::nullopt;
    if (!stride) stride = axes[k].strides[operand];
    next = axes[k].strides[operand] * axes[k].extent;
  }
  return stride ? stride : 0;
}

// The first axis from which on they are one axis to the operand.
size_t joint_suffix(std::span<const Axis> axes, int operand) {
  size_t first = axes.size();
  while (first > 0 && joint_stride(axes.subspan(first - 1), operand)) --first;
  return first;
}

void move_by(char* (&data)[kProductOperands], const Axis& axis, int64_t index) {
  for (int operand = 0; operand < kProductOperands; ++operand)
    if (data[operand]) data[operand] += index * axis.strides[operand];
}

// Moves to point number `index` of the axes.
void move_to(char* (&data)[kProductOperands], std::span<const Axis> axes, int64_t index) {
  for (size_t k = axes.size(); k--;) {
    move_by(data, axes[k], index % axes[k].extent);
    index /= axes[k].extent;
  }
}

// A group cut into near-equal boxes: one point of the axes before `cut`, a piece of it, all after it.
class Boxes {
 public:
  Boxes(const AxisList& axes, int64_t limit) : axes_(axes), cut_(axes.size()) {
    int64_t inside = 1;
    while (cut_ > 0 && inside * axes_[cut_ - 1].extent <= limit) inside *= axes_[--cut_].extent;
    if (cut_ == 0) return;
    --cut_;
    const int64_t extent = axes_[cut_].extent, most = std::max<int64_t>(limit / inside, 1);
    pieces_ = ceil_div(extent, most);
    piece_ = ceil_div(extent, pieces_);
    pieces_ = ceil_div(extent, piece_);
  }

  int64_t count() const { return pieces_ * points(std::span(axes_).first(cut_)); }

  // Points of the largest box.
  int64_t largest() const {
    return piece_ ? piece_ * points(std::span(axes_).subspan(cut_ + 1)) : points(axes_);
  }

  // The axes of a box; `data` moves to its first point.
  AxisList box(int64_t index, char* (&data)[kProductOperands]) const {
    AxisList inside(axes_.begin() + static_cast<std::ptrdiff_t>(cut_), axes_.end());
    if (inside.empty()) return inside;
    const int64_t begin = index % pieces_ * piece_;
    if (pieces_ > 1) inside[0].extent = std::min(piece_, inside[0].extent - begin);
    move_by(data, inside[0], begin);
    move_to(data, std::span(axes_).first(cut_), index / pieces_);
    return inside;
  }

 private:
  const AxisList& axes_;
  size_t cut_;
  int64_t piece_ = 0, pieces_ = 1;
};

// An axis of one operand.
struct Strided {
  int64_t extent, stride;
};

// A matrix operand of one product.
struct Matrix {
  char* data;
  int64_t outer, inner;   // strides along rows or columns, and along depth
};

class Contraction {
 public:
  explicit Contraction(const ContractionCall& call) : call_(call), item_(static_cast<int64_t>(item_size(call.dtype))) {
    std::copy_n(call.data, kProductOperands, data_);
    if (call.accumulates) data_[kBias] = nullptr;   // C has it
    size_t next = 0;
    for (int group = 0; group < kProductGroups; ++group)
      for (int k = call.group_sizes[group]; k--; ++next) add_axis(groups_[group], next);
  }

  int64_t run() {
    for (int group : {kBatch, kRows, kColumns})
      if (points(groups_[group]) == 0) return 0;
    if (points(groups_[kDepth]) == 0) return run_empty_sums();
    for (int group : {kRows, kColumns}) loop_outside(groups_[group], joint_suffix(groups_[group], kC));
    keep_in_place(kA, kRows);
    keep_in_place(kB, kColumns);
    if (reads_in_place(kA, kRows, groups_[kDepth]) && reads_in_place(kB, kColumns, groups_[kDepth])) return run_products();
    copy_whole(kA, kRows);
    copy_whole(kB, kColumns);
    return run_blocks();
  }

 private:
  void add_axis(AxisList& axes, size_t number) {
    Axis axis{call_.extents[number], {}};
    for (int operand = 0; operand < kProductOperands; ++operand)
      axis.strides[operand] = data_[operand] ? call_.strides[operand][number] : 0;
    if (axis.extent != 1) axes.push_back(axis);
  }

  // Sums of nothing read neither operand.
  int64_t run_empty_sums() {
    groups_[kDepth] = {{0, {}}};
    for (int group : {kRows, kColumns})
      for (Axis& axis : groups_[group]) axis.strides[kA] = axis.strides[kB] = 0;
    for (int group : {kRows, kColumns}) loop_outside(groups_[group], joint_suffix(groups_[group], kC));
    return run_products();
  }

  // The axes before `first` become batch axes.
  void loop_outside(AxisList& axes, size_t first) {
    const auto end = axes.begin() + static_cast<std::ptrdiff_t>(first);
    groups_[kBatch].insert(groups_[kBatch].end(), axes.begin(), end);
    axes.erase(axes.begin(), end);
  }

  // Loops over outer rows of an operand rather than copy it, where enough are left.
  void keep_in_place(int operand, int group) {
    const size_t first = joint_suffix(groups_[group], operand);
    if (first == 0 || !joint_stride(groups_[kDepth], operand)) return;
    if (points(std::span(groups_[group]).subspan(first)) >= kFewRows) loop_outside(groups_[group], first);
  }

  bool reads_in_place(int operand, int group, std::span<const Axis> depth) const {
    return joint_stride(groups_[group], operand) && joint_stride(depth, operand);
  }

  // ------------------------------------------------------------ products in place

  int64_t product(char* const (&data)[kProductOperands], const Matrix& a, const Matrix& b, std::span<const Axis> rows,
                  std::span<const Axis> columns, int64_t depth, bool accumulates) {
    GemmCall call{call_.kernel, points(rows), points(columns), depth, item_, {data[kC], a.data, b.data, data[kBias]}, {}};
    const int64_t strides[] = {*joint_stride(rows, kC), column_stride(columns, kC), a.outer, a.inner, b.inner, b.outer,
                               *joint_stride(rows, kBias), *joint_stride(columns, kBias)};
    std::copy_n(strides, std::size(strides), call.strides);
    call.accumulates = accumulates;
    return run_gemm(call);
  }

  // One column lies side by side with itself.
  int64_t column_stride(std::span<const Axis> columns, int operand) const {
    return points(columns) == 1 ? item_ : *joint_stride(columns, operand);
  }

  Matrix in_place(char* data, int operand, std::span<const Axis> outer, std::span<const Axis> depth) const {
    return {data, *joint_stride(outer, operand), *joint_stride(depth, operand)};
  }

  int64_t run_products() {
    const AxisList &rows = groups_[kRows], &columns = groups_[kColumns], &depth = groups_[kDepth];
    const int64_t batch = points(groups_[kBatch]), k = points(depth);
    const auto each = [&](int64_t number) {
      char* data[kProductOperands];
      std::copy_n(data_, kProductOperands, data);
      move_to(data, groups_[kBatch], number);
      const Matrix a = in_place(data[kA], kA, rows, depth), b = in_place(data[kB], kB, columns, depth);
      return product(data, a, b, rows, columns, k, call_.accumulates);
    };
    const int64_t work = std::max<int64_t>(points(rows) * points(columns) * k, 1);
    const int64_t together = work >= kLargeProducts ? batch : ceil_div(kGrainProducts, work);
    return parallel_blocks(ceil_div(batch, together), [&](int64_t block) -> int64_t {
      for (int64_t b = block * together; b < std::min(batch, (block + 1) * together); ++b)
        if (const int64_t status = each(b)) return status;
      return 0;
    });
  }

  // ------------------------------------------------------------ products of copied blocks

  // Copies the box of two groups at `from` into a dense matrix whose contiguous axis is the operand's.
  Matrix copy_box(int operand, const char* from, char* to, std::span<const Axis> outer, std::span<const Axis> depth) const {
    const bool along_depth = inner_run(depth, operand) > inner_run(outer, operand);
    const std::span<const Axis> slow = along_depth ? outer : depth, fast = along_depth ? depth : outer;
    copy_dense(from, to, strided_axes(slow, fast, operand));
    const int64_t row = points(fast) * item_;
    return along_depth ? Matrix{to, row, item_} : Matrix{to, item_, row};
  }

  // The axes as the operand moves along them, without those of one point; neighbours are merged.
  static std::vector<Strided> strided_axes(std::span<const Axis> slow, std::span<const Axis> fast, int operand) {
    std::vector<Strided> found;
    for (const std::span<const Axis> axes : {slow, fast})
      for (const Axis& axis : axes) {
        const int64_t stride = axis.strides[operand];
        if (axis.extent == 1) continue;
        if (!found.empty() && found.back().stride == stride * axis.extent) found.back() = {found.back().extent * axis.extent, stride};
        else found.push_back({axis.extent, stride});
      }
    return found;
  }

  // Two axes at a time.
  void copy_dense(const char* from, char* to, std::vector<Strided> axes) const {
    while (axes.size() < 2) axes.insert(axes.begin(), {1, 0});
    const Strided row = axes.back(), rows = axes[axes.size() - 2];
    const std::span<const Strided> outside(axes.data(), axes.size() - 2);
    const Run run{{row.extent, rows.extent}, {item_, row.extent * item_}, {row.stride, rows.stride}};
    int64_t count = 1, position[kMaxDims] = {};
    for (const Strided& axis : outside) count *= axis.extent;
    for (int64_t number = 0; number < count; ++number, to += rows.extent * row.extent * item_) {
      convert(call_.dtype, to, call_.dtype, from, run);
      for (size_t k = outside.size(); k--;) {
        from += outside[k].stride;
        if (++position[k] < outside[k].extent) break;
        from -= outside[k].stride * outside[k].extent;
        position[k] = 0;
      }
    }
  }

  // How many elements lie side by side along the innermost of the axes.
  int64_t inner_run(std::span<const Axis> axes, int operand) const {
    return !axes.empty() && axes.back().strides[operand] == item_ ? axes.back().extent : 1;
  }

  // A small operand that every block would copy again is copied once, before the others.
  void copy_whole(int operand, int group) {
    AxisList &outer = groups_[group], &depth = groups_[kDepth];
    if (reads_in_place(operand, group, depth) || points(outer) * points(depth) > kWholeElements) return;
    for (const Axis& axis : groups_[kBatch])
      if (axis.strides[operand] != 0) return;
    const int64_t elements[] = {points(outer) * points(depth)};
    copies_.push_back(empty(elements, call_.dtype));
    char* to = copies_.back()->data();
    const Matrix dense = copy_box(operand, data_[operand], to, outer, depth);
    data_[operand] = to;
    set_dense(outer, operand, dense.outer);
    set_dense(depth, operand, dense.inner);
  }

  static void set_dense(AxisList& axes, int operand, int64_t stride) {
    for (size_t k = axes.size(); k--; stride *= axes[k].extent) axes[k].strides[operand] = stride;
  }

  int64_t run_blocks() {
    const AxisList &rows = groups_[kRows], &columns = groups_[kColumns], &depth = groups_[kDepth];
    const bool can_add = adds_to_result(call_.dtype);
    const Boxes steps(depth, can_add ? kBlockDepth : points(depth));
    char* start[kProductOperands];
    std::copy_n(data_, kProductOperands, start);
    const AxisList first = steps.box(0, start);
    const int64_t limit = std::max<int64_t>(kBlockElements / points(first), 1);
    const bool copies_a = !reads_in_place(kA, kRows, first), copies_b = !reads_in_place(kB, kColumns, first);
    const Boxes tall(rows, copies_a ? limit : points(rows)), wide(columns, copies_b ? limit : points(columns));
    const int64_t per_point = tall.count() * wide.count();
    conversion_kernel(call_.dtype, call_.dtype).get();   // here, not on the threads: it may run Python
    call_.kernel.get();
    const auto block_bytes = [&](const Boxes& outer) {
      return static_cast<size_t>(outer.largest() * steps.largest() * item_);
    };
    return parallel_blocks(points(groups_[kBatch]) * per_point, [&](int64_t number) -> int64_t {
      const Scratch memory_a(copies_a ? block_bytes(tall) : 0), memory_b(copies_b ? block_bytes(wide) : 0);
      char* data[kProductOperands];
      std::copy_n(data_, kProductOperands, data);
      move_to(data, groups_[kBatch], number / per_point);
      const AxisList m = tall.box(number % tall.count(), data), n = wide.box(number % per_point / tall.count(), data);
      for (int64_t step = 0; step < steps.count(); ++step) {
        char* at[kProductOperands];
        std::copy_n(data, kProductOperands, at);
        const AxisList k = steps.box(step, at);
        if (step > 0) at[kBias] = nullptr;
        const Matrix a = copies_a ? copy_box(kA, at[kA], memory_a.data(), m, k) : in_place(at[kA], kA, m, k);
        const Matrix b = copies_b ? copy_box(kB, at[kB], memory_b.data(), n, k) : in_place(at[kB], kB, n, k);
        if (const int64_t status = product(at, a, b, m, n, points(k), step > 0 || call_.accumulates)) return status;
      }
      return 0;
    });
  }

  const ContractionCall& call_;
  const int64_t item_;
  char* data_[kProductOperands];
  AxisList groups_[kProductGroups];
  std::vector<Tensor> copies_;
};

// One axis or none in each group, no batch: the shape of most calls, without any list of axes.
int64_t run_matrix_product(const ContractionCall& call) {
  GemmCall product{call.kernel, 1, 1, 1, static_cast<int64_t>(item_size(call.dtype)), {}, {}};
  std::copy_n(call.data, kProductOperands, product.data);
  product.accumulates = call.accumulates;
  if (call.accumulates) product.data[kBias] = nullptr;
  int64_t* const extents[] = {&product.m, &product.n, &product.k};
  constexpr int kOuter[] = {kRows, kRows, kDepth, kRows}, kInner[] = {kColumns, kDepth, kColumns, kColumns};
  for (int group = kRows, axis = 0; group <= kDepth; ++group) {
    if (!call.group_sizes[group]) continue;
    *extents[group - kRows] = call.extents[axis];
    for (int operand = 0; operand < kProductOperands; ++operand) {
      if (!call.data[operand]) continue;
      if (kOuter[operand] == group) product.strides[2 * operand] = call.strides[operand][axis];
      if (kInner[operand] == group) product.strides[2 * operand + 1] = call.strides[operand][axis];
    }
    ++axis;
  }
  return run_gemm(product);
}

}  // namespace

int64_t run_contraction(const ContractionCall& call) {
  const auto sizes = call.group_sizes;
  if (sizes[kBatch] == 0 && std::ranges::all_of(sizes, [](uint8_t size) { return size <= 1; })) return run_matrix_product(call);
  return Contraction(call).run();
}

}  // namespace pellucid
