// The library routines of Fourier transforms along several dims.
//
// 2h contiguous real numbers are transformed as h complex ones; the real numbers' own transform then follows from
// sums and differences of opposite elements.
#include "library/fourier.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "core/thread_pool.h"
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

// Computes the h + 1 elements of the real numbers' transform from a line's `h` elements, which were made of 2h
// real numbers.
template <class T>
void unfold(T* z, int64_t h, const T* roots) {
  constexpr int64_t lanes = kLanes<T>;
  int64_t k = 1;
  const auto pair = [](auto& a, auto& b, const auto& root) {  // elements k and h - k
    const auto even = (a + b.conjugate()) * T(0.5), odd = (a - b.conjugate()) * T(0.5) * root;
    a = even - odd.times_i();
    b = (even + odd.times_i()).conjugate();
  };
  const T first = z[0], second = z[1];
  for (; 2 * (k + lanes) <= h; k += lanes) {
    T* high = z + 2 * (h - k - lanes + 1);
    Complexes<T> a = read_numbers(z + 2 * k), b = reversed(read_numbers(high));
    pair(a, b, read_numbers(roots + 2 * k));
    write_numbers(z + 2 * k, a);
    write_numbers(high, reversed(b));
  }
  for (; 2 * k <= h; ++k) {
    T *low = z + 2 * k, *high = z + 2 * (h - k);
    Complexes<T> a{}, b{}, root{};
    a.re[0] = low[0], a.im[0] = low[1];
    b.re[0] = high[0], b.im[0] = high[1];
    root.re[0] = roots[2 * k], root.im[0] = roots[2 * k + 1];
    pair(a, b, root);
    high[0] = b.re[0], high[1] = b.im[0];
    low[0] = a.re[0], low[1] = a.im[0];
  }
  z[0] = first + second;
  z[2 * h] = first - second;
  z[1] = z[2 * h + 1] = 0;
}

// The inverse: twice the elements whose inverse transform is the 2h real numbers.
template <class T>
void refold(const T* x, T* z, int64_t h, const T* roots) {
  constexpr int64_t lanes = kLanes<T>;
  int64_t k = 1;
  const auto pair = [](auto& a, auto& b, const auto& root) {
    const auto even = a + b.conjugate(), odd = (a - b.conjugate()) * root.conjugate();
    a = even + odd.times_i();
    b = (even - odd.times_i()).conjugate();
  };
  for (; 2 * (k + lanes) <= h; k += lanes) {
    const int64_t high = 2 * (h - k - lanes + 1);
    Complexes<T> a = read_numbers(x + 2 * k), b = reversed(read_numbers(x + high));
    pair(a, b, read_numbers(roots + 2 * k));
    write_numbers(z + 2 * k, a);
    write_numbers(z + high, reversed(b));
  }
  for (; 2 * k <= h; ++k) {
    const T *low = x + 2 * k, *high = x + 2 * (h - k);
    Complexes<T> a{}, b{}, root{};
    a.re[0] = low[0], a.im[0] = low[1];
    b.re[0] = high[0], b.im[0] = high[1];
    root.re[0] = roots[2 * k], root.im[0] = roots[2 * k + 1];
    pair(a, b, root);
    z[2 * (h - k)] = b.re[0], z[2 * (h - k) + 1] = b.im[0];
    z[2 * k] = a.re[0], z[2 * k + 1] = a.im[0];
  }
  z[0] = x[0] + x[2 * h];
  z[1] = x[0] - x[2 * h];
}

// Runs `body(first, last)` over ranges of lines: few enough to stay in the cache, and many enough to fill the lanes.
template <class T, class Body>
void share_lines(int64_t lines, int64_t length, Body&& body) {
  const int64_t step = std::max<int64_t>(4, kParallelGrain / length / kLanes<T>) * kLanes<T>;
  parallel_blocks((lines + step - 1) / step,
                  [&](int64_t block) { body(block * step, std::min(lines, (block + 1) * step)); });
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
  if (e.inner == 1 && e.length % 2 == 0) {
    const int64_t h = e.length / 2;
    const auto plan = plan_of<T>(h);
    return share_lines<T>(e.outer, e.length, [&](int64_t begin, int64_t end) {
      T* rows = to + 2 * begin * half;
      transform(*plan, from + begin * e.length, rows, {end - begin, 1, h, half, false, factor});
      for (int64_t line = 0; line < end - begin; ++line) unfold(rows + 2 * line * half, h, plan->half_roots());
    });
  }
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
  if (e.inner == 1 && e.length % 2 == 0) {
    const int64_t h = e.length / 2;
    const auto plan = plan_of<T>(h);
    return share_lines<T>(e.outer, e.length, [&](int64_t begin, int64_t end) {
      T* rows = to + begin * e.length;
      for (int64_t line = begin; line < end; ++line)
        refold(from + 2 * line * half, to + line * e.length, h, plan->half_roots());
      transform<T>(*plan, rows, rows, {end - begin, 1, h, h, true, factor});
    });
  }
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
