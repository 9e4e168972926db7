#include "autograd/anomaly.h"

#include <cmath>

#include "autograd/gradient_ops.h"
#include "autograd/hooks.h"
#include "core/error.h"
#include "core/hooks.h"

namespace pellucid {
namespace {

float widened(uint16_t bits, DType dtype) {
  if (dtype == DType::BFloat16) {
    const uint32_t wide = static_cast<uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &wide, sizeof value);
    return value;
  }
  return (bits & 0x7FFF) > 0x7C00 ? NAN : 0.0f;
}

template <class T>
bool any_nan(const void* data, int64_t count) {
  const T* items = static_cast<const T*>(data);
  for (int64_t i = 0; i < count; ++i)
    if (std::isnan(items[i])) return true;
  return false;
}

bool has_nan(TensorImpl& tensor) {
  if (tensor.device.type != DeviceType::CPU) return false;
  Tensor dense = tensor.is_contiguous() ? Tensor::share(&tensor) : empty(tensor.shape(), tensor.dtype);
  if (dense.get() != &tensor) copy_into(*dense, tensor);
  const void* data = dense->data();
  switch (tensor.dtype) {
    case DType::Float32: return any_nan<float>(data, tensor.numel);
    case DType::Complex64: return any_nan<float>(data, 2 * tensor.numel);
    case DType::Float64: return any_nan<double>(data, tensor.numel);
    case DType::Complex128: return any_nan<double>(data, 2 * tensor.numel);
    case DType::Float16: case DType::BFloat16: {
      const auto* items = static_cast<const uint16_t*>(data);
      for (int64_t i = 0; i < tensor.numel; ++i)
        if (std::isnan(widened(items[i], tensor.dtype))) return true;
      return false;
    }
    default: return false;
  }
}

}  // namespace

std::string (*current_stack_trace)() = nullptr;
bool anomaly_checks_nan = true;

void remember_forward_trace(Node& node) {
  if (current_stack_trace) extras_of(node).forward_trace = current_stack_trace();
}

void warn_of_forward_trace(const Node& node) {
  if (!node.extras || node.extras->forward_trace.empty()) {
    warn("the backward pass failed in %s, whose forward call was made outside anomaly mode:\n"
         "run the forward pass under it too to see where.", node.name().c_str());
    return;
  }
  warn("the backward pass failed in %s. Its forward call was made here:\n%s", node.name().c_str(),
       node.extras->forward_trace.c_str());
}

void check_for_nan(const Node& node, std::span<const Tensor> grads_out) {
  for (size_t i = 0; i < grads_out.size(); ++i)
    if (grads_out[i] && has_nan(*grads_out[i]))
      raise(ErrorKind::Runtime, "%s returned nan values in its output number %zu", node.name().c_str(), i);
}

}  // namespace pellucid
