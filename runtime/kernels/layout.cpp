#include "kernels/layout.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "core/geometry.h"
#include "core/hooks.h"

namespace pellucid {
namespace {

constexpr size_t kMaxLayoutOperands = 16;

bool same_shape(std::span<TensorImpl* const> operands, Sizes sizes) {
  return std::ranges::all_of(operands,
                             [&](TensorImpl* operand) { return std::ranges::equal(operand->shape(), sizes); });
}

// Positive: `inner` has the larger strides and belongs outside `outer`. Operands are compared in turn; a
// broadcast dimension does not decide, equal strides are ordered by size.
int compare_dims(const int64_t* strides, int num_operands, Sizes sizes, int inner, int outer) {
  const int ndim = static_cast<int>(sizes.size());
  for (int k = 0; k < num_operands; ++k) {
    const int64_t a = strides[k * ndim + inner], b = strides[k * ndim + outer];
    if (a == 0 || b == 0) continue;
    if (a != b) return a < b ? -1 : 1;
    if (sizes[inner] > sizes[outer]) return 1;
  }
  return 0;
}

// `order`: dimensions, innermost first.
void order_dims(const int64_t* strides, int num_operands, Sizes sizes, int* order) {
  const int ndim = static_cast<int>(sizes.size());
  for (int i = 0; i < ndim; ++i) order[i] = ndim - 1 - i;
  for (int i = 1; i < ndim; ++i) {
    int moving = i;
    for (int j = i - 1; j >= 0; --j) {
      const int comparison = compare_dims(strides, num_operands, sizes, order[j], order[moving]);
      if (comparison < 0) break;
      if (comparison == 0) continue;
      std::swap(order[j], order[moving]);
      moving = j;
    }
  }
}

}  // namespace

void broadcast_strides(const TensorImpl& tensor, Sizes sizes, int64_t* out) {
  const int added = static_cast<int>(sizes.size()) - tensor.ndim;
  for (int i = 0; i < static_cast<int>(sizes.size()); ++i) {
    const bool own = i >= added && tensor.sizes[i - added] == sizes[i];
    out[i] = own ? tensor.strides[i - added] : 0;
  }
}

namespace {

// Row-major operands never need another order, broadcast or not.
bool ask_for_row_major(Sizes sizes, std::span<TensorImpl* const> operands) {
  const auto all = [&](auto&& holds) { return std::ranges::all_of(operands, holds); };
  if (all([](TensorImpl* operand) { return operand->is_row_major(); })) return true;
  return same_shape(operands, sizes) && all([](TensorImpl* operand) { return operand->is_contiguous(); });
}

// The general case: operands that are not all row-major.
void ordered_strides(Sizes sizes, std::span<TensorImpl* const> operands, int64_t* result) {
  const auto all = [&](auto&& holds) { return std::ranges::all_of(operands, holds); };
  const TensorImpl& first = *operands.front();
  if (same_shape(operands, sizes)) {
    if (all([](TensorImpl* operand) { return is_channels_last(operand->shape(), operand->stride()); }))
      return channels_last_strides(sizes, result);
    const bool equally_dense =
        is_non_overlapping_and_dense(first.shape(), first.stride()) &&
        all([&](TensorImpl* operand) { return std::ranges::equal(operand->stride(), first.stride()); });
    if (equally_dense) {
      std::ranges::copy(first.stride(), result);
      return;
    }
  }
  const int ndim = static_cast<int>(sizes.size());
  if (operands.size() > kMaxLayoutOperands) operands = operands.first(kMaxLayoutOperands);
  int64_t strides[kMaxLayoutOperands * kMaxDims];
  for (size_t k = 0; k < operands.size(); ++k) broadcast_strides(*operands[k], sizes, strides + k * sizes.size());
  int order[kMaxDims];
  order_dims(strides, static_cast<int>(operands.size()), sizes, order);
  int64_t stride = 1;
  for (int i = 0; i < ndim; ++i) {
    result[order[i]] = stride;
    stride *= std::max<int64_t>(sizes[order[i]], 1);
  }
}

}  // namespace

void strides_for_operands(Sizes sizes, std::span<TensorImpl* const> operands, int64_t* strides) {
  if (ask_for_row_major(sizes, operands)) row_major_strides(sizes, strides);
  else ordered_strides(sizes, operands, strides);
}

Tensor empty_for_operands(Sizes sizes, std::span<TensorImpl* const> operands, DType dtype, Device device) {
  if (ask_for_row_major(sizes, operands)) return empty(sizes, dtype, device);
  int64_t strides[kMaxDims];
  ordered_strides(sizes, operands, strides);
  return empty_strided(sizes, {strides, sizes.size()}, dtype, device);
}

Tensor empty_with_format(const TensorImpl& like, DType dtype, MemoryFormat format, Device device) {
  switch (format) {
    case MemoryFormat::Preserve: return empty_like_layout(like, dtype, device);
    case MemoryFormat::Contiguous: return empty(like.shape(), dtype, device);
    default: break;
  }
  const int ndim = format == MemoryFormat::ChannelsLast ? 4 : 5;
  if (like.ndim != ndim)
    raise(ErrorKind::Runtime, "this channels-last memory format is for tensors of %d dimensions, not %d", ndim,
          like.ndim);
  int64_t strides[kMaxDims];
  channels_last_strides(like.shape(), strides);
  return empty_strided(like.shape(), {strides, like.ndim}, dtype, device);
}

void resize_output(TensorImpl& out, Sizes sizes) {
  if (std::ranges::equal(out.shape(), sizes)) return;
  if (out.numel != 0)
    warn(
        "out= has shape %s but the result has shape %s: the tensor was resized. This is deprecated; "
        "reuse a tensor explicitly by resizing it to zero elements first, as in t.resize_(0).",
        format_sizes(out.shape()).c_str(), format_sizes(sizes).c_str());
  resize_tensor(out, sizes);
}

}  // namespace pellucid
