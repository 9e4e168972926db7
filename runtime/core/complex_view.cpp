#include "core/complex_view.h"

#include <algorithm>
#include <string>

#include "core/error.h"
#include "core/format.h"

namespace pellucid {
namespace {

std::string name_of(DType dtype) { return std::string(name(dtype)); }

void check_pairs(const TensorImpl& tensor) {
  const int last = tensor.ndim - 1;
  if (category(tensor.dtype) != DTypeCategory::Floating ||
      item_size(complex_dtype(tensor.dtype)) != 2 * item_size(tensor.dtype))
    raise(ErrorKind::Runtime, "view_as_complex takes pairs of float16, float32 or float64 numbers, not of %s",
          name_of(tensor.dtype).c_str());
  if (last < 0 || tensor.sizes[last] != 2)
    raise(ErrorKind::Runtime,
          "view_as_complex takes a tensor whose last dimension has size 2, real and imaginary part; got size %s",
          format_sizes(tensor.shape()).c_str());
  bool fits = tensor.strides[last] == 1 && tensor.offset % 2 == 0;
  for (int axis = 0; axis < last; ++axis) fits = fits && tensor.strides[axis] % 2 == 0;
  if (!fits)
    raise(ErrorKind::Runtime,
          "view_as_complex needs both parts of a number adjacent in memory: the last stride 1, the others and the\n"
          "storage offset even. This tensor has strides %s and offset %lld; make it contiguous first.",
          format_sizes(tensor.stride()).c_str(), static_cast<long long>(tensor.offset));
}

}  // namespace

DType real_dtype(DType dtype) { return facts_of(dtype).real; }

DType complex_dtype(DType dtype) { return facts_of(dtype).complex; }

Tensor view_as_real(TensorImpl& tensor, bool detached) {
  if (category(tensor.dtype) != DTypeCategory::Complex)
    raise(ErrorKind::Runtime, "view_as_real takes a complex tensor, not one of %s", name_of(tensor.dtype).c_str());
  if (tensor.ndim == kMaxDims)
    raise(ErrorKind::Runtime, "view_as_real adds a dimension, and this tensor already has the maximum of %d", kMaxDims);
  int64_t sizes[kMaxDims], strides[kMaxDims];
  std::copy_n(tensor.sizes, tensor.ndim, sizes);
  std::transform(tensor.strides, tensor.strides + tensor.ndim, strides, [](int64_t stride) { return 2 * stride; });
  sizes[tensor.ndim] = 2;
  strides[tensor.ndim] = 1;
  const size_t rank = tensor.ndim + size_t{1};
  Tensor view = make_view(tensor, {sizes, rank}, {strides, rank}, 2 * tensor.offset, detached);
  view->dtype = real_dtype(tensor.dtype);
  return view;
}

Tensor view_as_complex(TensorImpl& tensor, bool detached) {
  check_pairs(tensor);
  int64_t strides[kMaxDims];
  const size_t rank = tensor.ndim - size_t{1};
  std::transform(tensor.strides, tensor.strides + rank, strides, [](int64_t stride) { return stride / 2; });
  Tensor view = make_view(tensor, tensor.shape().first(rank), {strides, rank}, tensor.offset / 2, detached);
  view->dtype = complex_dtype(tensor.dtype);
  return view;
}

}  // namespace pellucid
