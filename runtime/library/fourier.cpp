// The library routines of Fourier transforms along several dims.
#include "library/fourier.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "library/fourier_plan.h"
#include "library/workspace.h"
#include "plan/library.h"

namespace pellucid {
namespace fourier {
namespace {

std::vector<int> dims_of(const LibraryCall& call) {
  std::vector<int> found;
  const std::string_view text = call.text("dims");
  for (const char *at = text.data(), *end = at + text.size(); at < end; ++at) {
    int dim = 0;
    at = std::from_chars(at, end, dim).ptr;
    found.push_back(dim + call.inputs[0]->ndim);
  }
  return found;
}

// The scale factor of a norm given by its name in NumPy; depends on the direction.
double factor_of(const LibraryCall& call, const TensorImpl& reals, const std::vector<int>& dims, bool forward) {
  double count = 1;
  for (const int dim : dims) count *= static_cast<double>(reals.sizes[dim]);
  const std::string_view norm = call.text("norm");
  if (norm == "ortho") return 1 / std::sqrt(count);
  return (norm == "forward") == forward ? 1 / count : 1;
}

struct Extent {
  int64_t outer, length, inner;
};
Extent extent(const TensorImpl& tensor, int dim) {
  Extent found{1, tensor.sizes[dim], 1};
  for (int k = 0; k < dim; ++k) found.outer *= tensor.sizes[k];
  for (int k = dim + 1; k < tensor.ndim; ++k) found.inner *= tensor.sizes[k];
  return found;
}

template <class T>
void along(const TensorImpl& shape, int dim, const T* from, T* to, bool inverse, double factor) {
  const Extent e = extent(shape, dim);
  const int64_t step = e.length * e.inner;
  transform(*plan_of<T>(e.length), from, to, {e.outer, e.inner, step, step, inverse, factor});
}

template <class T>
void complex_to_complex(LibraryCall& call) {
  const std::vector<int> dims = dims_of(call);
  const Constant* direction = call.option("forward");
  const bool forward = direction && direction->value.integer != 0;
  double factor = factor_of(call, *call.inputs[0], dims, forward);
  const T* from = call.inputs[0]->host_as<T>();
  T* to = call.outputs[0]->host_as<T>();
  for (const int dim : dims) {
    along(*call.inputs[0], dim, from, to, !forward, factor);
    from = to;
    factor = 1;
  }
}

// Converts between `whole[o][k][i]`, k below `length`, and half a spectrum or real numbers, in either direction.
template <class T, class Copy>
void each_line(const Extent& e, Copy&& copy) {
  for (int64_t outer = 0; outer < e.outer; ++outer)
    for (int64_t k = 0; k < e.length; ++k)
      for (int64_t inner = 0; inner < e.inner; ++inner) copy(outer, k, inner, (outer * e.length + k) * e.inner + inner);
}

template <class T>
void real_last(const Extent& e, const T* from, T* to, double factor) {
  const int64_t half = e.length / 2 + 1;
  if (e.inner == 1 && e.length % 2 == 0) return transform_reals(from, to, e.outer, e.length, factor);
  const int64_t step = e.length * e.inner;
  const Workspace<T> memory(2 * e.outer * step);
  T* whole = memory;
  for (int64_t k = 0; k < e.outer * step; ++k) whole[2 * k] = from[k], whole[2 * k + 1] = 0;
  transform<T>(*plan_of<T>(e.length), whole, whole, {e.outer, e.inner, step, step, false, factor});
  for (int64_t outer = 0; outer < e.outer; ++outer)
    std::copy_n(whole + 2 * outer * step, 2 * half * e.inner, to + 2 * outer * half * e.inner);
}

template <class T>
void half_last(const Extent& e, const T* from, T* to, double factor) {  // `e` is that of the real result
  const int64_t half = e.length / 2 + 1;
  if (e.inner == 1 && e.length % 2 == 0) return transform_to_reals(from, to, e.outer, e.length, factor);
  const int64_t step = e.length * e.inner;
  const Workspace<T> memory(2 * e.outer * step);
  T* whole = memory;
  each_line<T>(e, [&](int64_t outer, int64_t k, int64_t inner, int64_t at) {
    const bool mirrored = k >= half;
    const T* number = from + 2 * ((outer * half + (mirrored ? e.length - k : k)) * e.inner + inner);
    const bool is_real = k == 0 || 2 * k == e.length;
    whole[2 * at] = number[0];
    whole[2 * at + 1] = is_real ? T(0) : mirrored ? -number[1] : number[1];
  });
  transform<T>(*plan_of<T>(e.length), whole, whole, {e.outer, e.inner, step, step, true, factor});
  for (int64_t k = 0; k < e.outer * step; ++k) to[k] = whole[2 * k];
}

template <class T>
void real_to_half(LibraryCall& call) {
  const std::vector<int> dims = dims_of(call);
  const TensorImpl &reals = *call.inputs[0], &half = *call.outputs[0];
  T* to = call.outputs[0]->host_as<T>();
  real_last<T>(extent(reals, dims.back()), call.inputs[0]->host_as<T>(), to, factor_of(call, reals, dims, true));
  for (size_t k = 0; k + 1 < dims.size(); ++k) along<T>(half, dims[k], to, to, false, 1);
}

template <class T>
void half_to_real(LibraryCall& call) {
  const std::vector<int> dims = dims_of(call);
  const TensorImpl &half = *call.inputs[0], &reals = *call.outputs[0];
  const T* from = call.inputs[0]->host_as<T>();
  const Workspace<T> memory(dims.size() > 1 ? 2 * half.numel : 0);
  for (size_t k = 0; k + 1 < dims.size(); ++k) {
    along<T>(half, dims[k], from, memory, true, 1);
    from = memory;
  }
  half_last<T>(extent(reals, dims.back()), from, call.outputs[0]->host_as<T>(), factor_of(call, reals, dims, false));
}

template <void (*of_float)(LibraryCall&), void (*of_double)(LibraryCall&)>
void by_dtype(LibraryCall& call) {
  if (!call.inputs[0]->numel || call.text("dims").empty()) return library_fallback(call);
  switch (call.inputs[0]->dtype) {
    case DType::Float32:
    case DType::Complex64: return of_float(call);
    case DType::Float64:
    case DType::Complex128: return of_double(call);
    default: return library_fallback(call);
  }
}

}  // namespace
}  // namespace fourier

void register_fourier() {
  using namespace fourier;
  register_library_routine("fft", by_dtype<complex_to_complex<float>, complex_to_complex<double>>);
  register_library_routine("rfft", by_dtype<real_to_half<float>, real_to_half<double>>);
  register_library_routine("irfft", by_dtype<half_to_real<float>, half_to_real<double>>);
}

}  // namespace pellucid
