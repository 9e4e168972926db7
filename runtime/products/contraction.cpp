#include "products/contraction.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "core/thread_pool.h"
#include "products/depthwise_nchw.h"
#include "products/depthwise_nhwc.h"
#include "products/gemm.h"
#include "products/packed_product.h"
#include "products/padded_image.h"
#include "products/pixel_product.h"
#include "products/weight_gradient_panels.h"
#include "products/winograd.h"
#include "timeline/routes.h"

namespace pellucid {
namespace {

// Records the route if the driver, which may decline the product, ran it.
std::optional<int64_t> noted(ProductRoute route, std::optional<int64_t> status) {
  if (status) note_route(route);
  return status;
}

int64_t noted(ProductRoute route, int64_t status) {
  note_route(route);
  return status;
}

constexpr int64_t kFewRows = 16;              // a product with fewer rows is not worth a call of its own
constexpr int64_t kCallProducts = 1 << 11;    // multiply-adds in the time of the smallest product
constexpr int64_t kLargeProducts = 1 << 22;   // such a product is split over threads by itself
constexpr int64_t kWideColumns = 256;         // columns that fill tiles well by themselves
constexpr int64_t kDeepColumns = 64;          // products per sum that are worth moving the sum
constexpr int64_t kPackedExtent = 64;         // minimum of each extent for which packing into panels is worth it,
constexpr int64_t kPackedProducts = 1 << 23;  // and of the multiply-adds

constexpr int64_t kDeepProduct = 1 << 13;  // such a depth is split for more threads,
constexpr int64_t kSmallResult = 1 << 14;  // if C is too small to be split

bool should_pack(int64_t m, int64_t n, int64_t k) {
  if (k >= kDeepProduct && m * n <= kSmallResult && std::min(m, n) >= kFewRows) return true;
  return std::min({m, n, k}) >= kPackedExtent &&
         static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) > kPackedProducts;
}

class Contraction {
 public:
  explicit Contraction(const ContractionCall& call) : call_(call), item_(static_cast<int64_t>(item_size(call.dtype))) {
    std::copy_n(call.data, kProductOperands, data_);
    if (call.accumulates) data_[kBias] = nullptr;  // C contains it already
    size_t next = 0;
    for (int group = 0; group < kProductGroups; ++group)
      for (int k = call.group_sizes[group]; k--; ++next) add_axis(groups_[group], next);
    for (int group : {kRows, kColumns})
      std::ranges::stable_sort(groups_[group], std::greater{}, [](const Axis& axis) { return axis.strides[kC]; });
    // Kernels write contiguous rows or columns of C; otherwise each element is computed as a separate product.
    if (!is_contiguous(kRows) && !is_contiguous(kColumns)) loop_outside(groups_[kColumns], groups_[kColumns].size());
  }

  int64_t run() {
    for (int group : {kBatch, kRows, kColumns})
      if (points(groups_[group]) == 0) return 0;
    if (points(groups_[kDepth]) == 0) return run_empty_sums();
    if (has_lanes())
      if (const std::optional<int64_t> status = noted(ProductRoute::ChannelLanes, run_channel_lanes(as_product())))
        return *status;
    loop_outside(groups_[kRows], joint_suffix(groups_[kRows], kC));
    if (should_gather_columns()) return run_packed();
    loop_outside(groups_[kColumns], joint_suffix(groups_[kColumns], kC));
    read_in_place(kA, kRows);
    read_in_place(kB, kColumns);
    const bool in_place = reads_in_place(kA, kRows) && reads_in_place(kB, kColumns);
    const bool packs = should_pack(points(groups_[kRows]), points(groups_[kColumns]), points(groups_[kDepth]));
    return in_place && (!packs || reads_columns(product())) ? run_products() : run_packed();
  }

  std::optional<int64_t> run_beyond() {
    if (std::ranges::any_of(groups_, [](const AxisList& axes) { return points(axes) == 0; })) return std::nullopt;
    loop_outside(groups_[kRows], joint_suffix(groups_[kRows], kC));
    if (!should_gather_columns()) loop_outside(groups_[kColumns], joint_suffix(groups_[kColumns], kC));
    PackedProduct product = packed();
    if (points(product.groups[kRows]) == 1) return noted(ProductRoute::SingleRow, run_single_row(product));
    if (const std::optional<int64_t> status = noted(ProductRoute::Winograd, run_winograd(product))) return *status;
    if (shares_windows(product)) return noted(ProductRoute::SharedWindows, run_shared_windows(product));
    if (reads_padded_image(product)) return noted(ProductRoute::PaddedImage, run_padded_image(product));
    if (!reads_beyond(product)) return std::nullopt;
    return noted(ProductRoute::Panels, run_packed_product(std::move(product)));
  }

 private:
  void add_axis(AxisList& axes, size_t number) {
    Axis axis{call_.extents[number], {}};
    for (int operand = 0; operand < kProductOperands; ++operand)
      axis.strides[operand] = data_[operand] ? call_.strides[operand][number] : 0;
    for (int dim = 0; dim < call_.beyond.dims; ++dim) axis.steps[dim] = call_.steps[dim][number];
    if (axis.extent != 1) axes.push_back(axis);
  }

  bool is_contiguous(int group) const { return groups_[group].empty() || groups_[group].back().strides[kC] == item_; }

  // Empty sums read neither operand.
  int64_t run_empty_sums() {
    groups_[kDepth] = {{0, {}}};
    for (int group : {kRows, kColumns})
      for (Axis& axis : groups_[group]) axis.strides[kA] = axis.strides[kB] = 0;
    for (int group : {kRows, kColumns}) loop_outside(groups_[group], joint_suffix(groups_[group], kC));
    return run_products();
  }

  // Makes the axes before `first` batch axes.
  void loop_outside(AxisList& axes, size_t first) {
    const auto end = axes.begin() + static_cast<std::ptrdiff_t>(first);
    groups_[kBatch].insert(groups_[kBatch].end(), axes.begin(), end);
    axes.erase(axes.begin(), end);
  }

  // Loops over outer rows of an operand instead of copying it, if the inner product is large enough.
  void read_in_place(int operand, int group) {
    const size_t first = joint_suffix(groups_[group], operand);
    if (first == 0 || !joint_stride(groups_[kDepth], operand)) return;
    if (points(std::span(groups_[group]).subspan(first)) >= kFewRows) loop_outside(groups_[group], first);
  }

  // Whether columns that are not contiguous in C, such as those of several small images, are worth gathering into
  // one product.
  bool should_gather_columns() const {
    const std::span<const Axis> columns(groups_[kColumns]);
    const std::span<const Axis> inner = columns.subspan(joint_suffix(columns, kC));
    return inner.size() < columns.size() && points(inner) < kWideColumns && joint_stride(inner, kC) == item_ &&
           points(groups_[kRows]) > 1 && points(groups_[kDepth]) >= kDeepColumns;
  }

  bool reads_in_place(int operand, int group) const {
    return joint_stride(groups_[group], operand) && joint_stride(groups_[kDepth], operand);
  }

  // The first product of the batch, with operands that are read in place.
  GemmCall product() const {
    const AxisList &rows = groups_[kRows], &columns = groups_[kColumns], &depth = groups_[kDepth];
    GemmCall one{call_.kernel, points(rows), points(columns), points(depth), item_, {}, {}};
    // A single column counts as contiguous.
    const int64_t strides[] = {*joint_stride(rows, kC),    one.n == 1 ? item_ : *joint_stride(columns, kC),
                               *joint_stride(rows, kA),    *joint_stride(depth, kA),
                               *joint_stride(depth, kB),   *joint_stride(columns, kB),
                               *joint_stride(rows, kBias), *joint_stride(columns, kBias)};
    std::copy_n(strides, std::size(strides), one.strides);
    one.accumulates = call_.accumulates;
    return one;
  }

  int64_t run_products() {
    note_route(ProductRoute::InPlace);
    const GemmCall one = product();
    const int64_t batch = points(groups_[kBatch]);
    call_.kernel.get();  // resolving may call Python: not from a thread that others wait for
    const int64_t work = std::max(one.m * one.n * one.k, kCallProducts);
    const int64_t together = work >= kLargeProducts ? batch : ceil_div(kGrainProducts, work);
    return parallel_blocks(ceil_div(batch, together), [&](int64_t block) {
      const int64_t first = block * together, count = std::min(together, batch - first);
      const Walk places(data_, groups_[kBatch], first);
      return is_small(one) ? run_small(one, places, count) : run_each(one, places, count);
    });
  }

  static int64_t run_small(const GemmCall& one, Walk places, int64_t count) {
    const SmallProducts products(one);
    for (; count--; places.next())
      if (const int64_t status = products.run(places.data())) return status;
    return 0;
  }

  static int64_t run_each(const GemmCall& one, Walk places, int64_t count) {
    for (; count--; places.next()) {
      GemmCall call = one;
      std::copy_n(places.data(), kProductOperands, call.data);
      if (const int64_t status = run_gemm(call)) return status;
    }
    return 0;
  }

  // Whether products with one row are adjacent.
  bool has_lanes() const {
    return groups_[kRows].empty() && std::ranges::any_of(groups_[kBatch], [&](const Axis& axis) {
             return axis.strides[kB] == item_ && axis.extent > 1;
           });
  }

  PackedProduct as_product() const {
    PackedProduct product{call_.kernel, call_.dtype, {}, {}, call_.accumulates, call_.beyond, call_.panel_cache};
    std::copy_n(data_, kProductOperands, product.data);
    std::ranges::copy(groups_, product.groups);
    return product;
  }

  // The call as a PackedProduct. Columns of C are contiguous.
  PackedProduct packed() {
    PackedProduct product = as_product();
    const AxisList& columns = product.groups[kColumns];
    if (points(columns) != 1 && columns.back().strides[kC] != item_) transpose(product);
    return product;
  }

  int64_t run_packed() {
    PackedProduct product = packed();
    if (points(product.groups[kRows]) == 1 && !product.accumulates)
      if (const std::optional<int64_t> status = noted(ProductRoute::SingleRow, run_single_row(product))) return *status;
    if (const std::optional<int64_t> status = noted(ProductRoute::Winograd, run_winograd(product))) return *status;
    if (shares_windows(product)) return noted(ProductRoute::SharedWindows, run_shared_windows(product));
    if (const std::optional<int64_t> status = noted(ProductRoute::Pixels, run_pixel_product(product))) return *status;
    return noted(ProductRoute::Panels, run_packed_product(std::move(product)));
  }

  // C^T = B^T A^T, whose columns are contiguous.
  static void transpose(PackedProduct& product) {
    product.panel_cache = nullptr;
    std::swap(product.data[kA], product.data[kB]);
    if (product.beyond.operand >= 0) product.beyond.operand = product.beyond.operand == kA ? kB : kA;
    std::swap(product.groups[kRows], product.groups[kColumns]);
    for (AxisList& axes : product.groups)
      for (Axis& axis : axes) std::swap(axis.strides[kA], axis.strides[kB]);
  }

  const ContractionCall& call_;
  const int64_t item_;
  char* data_[kProductOperands];
  AxisList groups_[kProductGroups];
};

// At most one axis in each group and no batch: the form of most calls, without building lists of axes.
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
  if (should_pack(product.m, product.n, product.k) && !reads_columns(product)) return Contraction(call).run();
  note_route(ProductRoute::InPlace);
  return run_gemm(product);
}

}  // namespace

std::optional<int64_t> run_beyond(const ContractionCall& call) { return Contraction(call).run_beyond(); }

int64_t run_contraction(const ContractionCall& call) {
  const auto sizes = call.group_sizes;
  if (sizes[kBatch] == 0 && std::ranges::all_of(sizes, [](uint8_t size) { return size <= 1; }))
    return run_matrix_product(call);
  return Contraction(call).run();
}

}  // namespace pellucid
