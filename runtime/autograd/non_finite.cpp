#include "autograd/non_finite.h"

#include <cmath>
#include <cstring>

#include "autograd/gradient_ops.h"

namespace pellucid {
namespace {

// A half-precision number as float; exact for non-finite ones, which is all that matters here.
float widened(uint16_t bits, DType dtype) {
  if (dtype == DType::BFloat16) {
    const uint32_t wide = static_cast<uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &wide, sizeof value);
    return value;
  }
  if ((bits & 0x7C00) != 0x7C00) return 0.0f;
  if (bits & 0x03FF) return NAN;
  return bits & 0x8000 ? -INFINITY : INFINITY;
}

template <class Read>
std::optional<NonFinite> search(int64_t count, int64_t per_element, bool nan, Read&& read) {
  for (int64_t i = 0; i < count * per_element; ++i) {
    const double value = read(i);
    if (nan ? std::isnan(value) : std::isinf(value)) return NonFinite{i / per_element, value};
  }
  return {};
}

}  // namespace

std::string NonFinite::text() const { return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf"; }

std::vector<int64_t> NonFinite::place(std::span<const int64_t> sizes) const {
  std::vector<int64_t> place(sizes.size());
  int64_t rest = index;
  for (size_t dim = sizes.size(); dim-- > 0; rest /= sizes[dim]) place[dim] = rest % sizes[dim];
  return place;
}

std::optional<NonFinite> find_non_finite(TensorImpl& tensor, bool nan) {
  if (tensor.device.type != DeviceType::CPU || !is_differentiable(tensor.dtype) || !tensor.numel) return {};
  if (is_opaque(tensor.dtype)) return {};
  const bool is_narrow = item_size(tensor.dtype) == 1 || tensor.dtype == DType::Complex32;
  const DType searched = !is_narrow ? tensor.dtype : item_size(tensor.dtype) == 1 ? DType::Float32 : DType::Complex64;
  const bool is_plain = !is_narrow && tensor.is_contiguous();
  Tensor dense = is_plain ? Tensor::share(&tensor) : empty(tensor.shape(), searched);
  if (dense.get() != &tensor) copy_into(*dense, tensor);
  const void* data = dense->host();
  const auto floats = [&](int64_t i) -> double { return static_cast<const float*>(data)[i]; };
  const auto doubles = [&](int64_t i) { return static_cast<const double*>(data)[i]; };
  const auto halves = [&](int64_t i) -> double { return widened(static_cast<const uint16_t*>(data)[i], tensor.dtype); };
  switch (searched) {
    case DType::Float32: return search(tensor.numel, 1, nan, floats);
    case DType::Complex64: return search(tensor.numel, 2, nan, floats);
    case DType::Float64: return search(tensor.numel, 1, nan, doubles);
    case DType::Complex128: return search(tensor.numel, 2, nan, doubles);
    default: return search(tensor.numel, 1, nan, halves);
  }
}

}  // namespace pellucid
