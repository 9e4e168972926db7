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
