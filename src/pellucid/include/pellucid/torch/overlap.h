// Whether elements share memory within a tensor or among two: at::assert_no_internal_overlap and its relatives.
#pragma once

#include <algorithm>

#include "pellucid/torch/tensors.h"

namespace at {
namespace detail {

// Whether the elements fill a range of memory once, in some order of the dimensions.
inline bool fills_its_range(const Tensor& tensor) {
  std::vector<std::pair<int64_t, int64_t>> dims;  // strides and sizes
  for (int64_t d = 0; d < tensor.dim(); ++d)
    if (tensor.size(d) != 1) dims.emplace_back(tensor.stride(d), tensor.size(d));
  std::sort(dims.begin(), dims.end());
  int64_t expected = 1;
  for (const auto& [stride, size] : dims) {
    if (stride != expected) return false;
    expected *= size;
  }
  return true;
}

}  // namespace detail

// A stride of 0 in a dimension with elements; other overlaps within a tensor are not found.
inline bool has_internal_overlap(const Tensor& tensor) {
  for (int64_t d = 0; d < tensor.dim() && tensor.numel(); ++d)
    if (tensor.size(d) > 1 && tensor.stride(d) == 0) return true;
  return false;
}
inline void assert_no_internal_overlap(const Tensor& tensor) {
  TORCH_CHECK(!has_internal_overlap(tensor), "several elements of the output of shape ", tensor.sizes(),
              " are one in memory (its strides are ", tensor.strides(), "): write to a clone() of it");
}

// Whether some elements of two tensors are the same but not all, as far as it is known: both fill a range of memory.
inline bool has_partial_overlap(const Tensor& a, const Tensor& b) {
  if (a.is_same(b) || !a.numel() || !b.numel() || !detail::fills_its_range(a) || !detail::fills_its_range(b))
    return false;
  const auto first = [](const Tensor& tensor) { return static_cast<const char*>(tensor.const_data_ptr()); };
  const auto last = [&](const Tensor& tensor) { return first(tensor) + tensor.numel() * tensor.element_size(); };
  if (first(a) == first(b) && last(a) == last(b)) return a.strides() != b.strides();
  return first(a) < last(b) && first(b) < last(a);
}
inline void assert_no_partial_overlap(const Tensor& a, const Tensor& b) {
  TORCH_CHECK(!has_partial_overlap(a, b), "an output of shape ", a.sizes(), " and an input of shape ", b.sizes(),
              " share a part of their memory: give a clone() of one of them");
}

}  // namespace at
