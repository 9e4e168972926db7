#include "exec/dense.h"

#include <cstring>

#include "core/error.h"
#include "kernels/conversion.h"

namespace pellucid {

namespace {

// The constant as one element of `dtype`.
void write_element(const Constant& constant, DType dtype, char* out) {
  const DType from = constant.is_number ? DType::Float64 : DType::Int64;
  convert(dtype, out, from, reinterpret_cast<const char*>(&constant.value), {{1, 1}, {0, 0}, {0, 0}});
}

}  // namespace

void copy_elements(TensorImpl& to, TensorImpl& from) {
  const int rank = to.ndim;
  const int64_t to_item = static_cast<int64_t>(item_size(to.dtype));
  const int64_t from_item = static_cast<int64_t>(item_size(from.dtype));
  if (to.numel == 0) return;
  Run run{{1, 1}, {0, 0}, {0, 0}};
  for (int d = rank - 1; d >= 0 && d >= rank - 2; --d) {
    const int axis = rank - 1 - d;
    run.sizes[axis] = to.sizes[d];
    run.to_strides[axis] = to.strides[d] * to_item;
    run.from_strides[axis] = from.strides[d] * from_item;
  }
  int64_t outer = 1;
  for (int d = 0; d < rank - 2; ++d) outer *= to.sizes[d];
  char *const to_data = to.data(), *const from_data = from.data();
  for (int64_t o = 0; o < outer; ++o) {
    int64_t rest = o, to_offset = 0, from_offset = 0;
    for (int d = rank - 3; d >= 0; --d) {
      const int64_t index = rest % to.sizes[d];
      rest /= to.sizes[d];
      to_offset += index * to.strides[d] * to_item;
      from_offset += index * from.strides[d] * from_item;
    }
    convert(to.dtype, to_data + to_offset, from.dtype, from_data + from_offset, run);
  }
}

Tensor dense(TensorImpl& tensor) {
  if (tensor.is_contiguous()) return Tensor::share(&tensor);
  Tensor copy = empty(tensor.shape(), tensor.dtype, tensor.device);
  if (tensor.device.type != DeviceType::Meta) copy_elements(*copy, tensor);
  return copy;
}

void fill_constant(TensorImpl& tensor, const Constant& constant) {
  if (tensor.numel == 0) return;
  char element[16] = {};
  write_element(constant, tensor.dtype, element);
  const auto item = static_cast<int64_t>(item_size(tensor.dtype));
  char* data = tensor.data();
  static constexpr char kZeros[16] = {};
  if (std::memcmp(element, kZeros, sizeof element) == 0) {
    std::memset(data, 0, static_cast<size_t>(tensor.numel * item));
    return;
  }
  convert(tensor.dtype, data, tensor.dtype, element, {{tensor.numel, 1}, {item, 0}, {0, 0}});
}

}  // namespace pellucid
