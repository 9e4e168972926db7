// Transforms of lines in memory: as many at once as a vector has lanes, or one split into a matrix.
#include <algorithm>

#include "library/fourier.h"
#include "library/fourier_groups.h"
#include "library/fourier_plan.h"

namespace pellucid::fourier {
namespace {

template <class T>
Workspace<T> numbers(int64_t count) {
  return Workspace<T>(2 * count);
}

// Transforms lines in lanes: lines adjacent in memory if there are any, else lines of adjacent blocks.
template <class T>
void transform_lanes(const Plan<T>& plan, const T* from, T* to, const Geometry& g) {
  const int64_t n = plan.length(), lanes = kLanes<T>;
  const bool across = g.inner == 1;
  const int64_t lines = across ? g.outer : g.inner, groups = (lines + lanes - 1) / lanes;
  share(groups * (across ? 1 : g.outer), plan.held() * lanes, [&](int64_t begin, int64_t end) {
    const Passes<T> passes(plan.held());
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t outer = across ? 0 : unit / groups, line = (across ? unit : unit % groups) * lanes;
      const int64_t count = std::min(lanes, lines - line);
      const Lines source{n, g.inner, across ? g.from_step : 1, count, g.inverse};
      const Lines target{n, g.inner, across ? g.to_step : 1, count, g.inverse};
      load_lines(from + 2 * (outer * g.from_step + line * source.next), source, passes.first());
      const Complexes<T>* result = plan.run(passes.first(), passes.second());
      store_lines(to + 2 * (outer * g.to_step + line * target.next), target, result, static_cast<T>(g.factor));
    }
  });
}

// Transforms the columns of a line's matrix, multiplies by the roots, and stores them as the rows of `transposed`.
template <class T>
void transform_columns(const Plan<T>& plan, const T* from, T* transposed, bool inverse) {
  const int64_t rows = plan.rows(), columns = plan.columns(), lanes = kLanes<T>;
  share((columns + lanes - 1) / lanes, rows * lanes, [&](int64_t begin, int64_t end) {
    const Passes<T> passes(rows), roots(rows);
    for (int64_t column = begin * lanes; column < std::min(columns, end * lanes); column += lanes) {
      const int64_t count = std::min(lanes, columns - column);
      load_lines(from + 2 * column, {rows, columns, 1, count, inverse}, passes.first());
      const Complexes<T>* result = plan.of_columns().run(passes.first(), passes.second());
      Complexes<T>* products = result == passes.first() ? passes.second() : passes.first();
      load_lines(plan.roots() + 2 * column, {rows, columns, 1, count}, roots.first());
      for (int64_t row = 0; row < rows; ++row) products[row] = result[row] * roots.first()[row];
      store_lines(transposed + 2 * column * rows, {rows, 1, rows, count}, products);
    }
  });
}

// Transforms a contiguous line as a matrix: columns, then rows, each as lines in lanes.
template <class T>
void transform_matrix(const Plan<T>& plan, const T* from, T* to, const Geometry& g) {
  const int64_t rows = plan.rows(), columns = plan.columns(), lanes = kLanes<T>;
  const Workspace<T> transposed = numbers<T>(plan.length());
  transform_columns<T>(plan, from, transposed, g.inverse);
  share((rows + lanes - 1) / lanes, columns * lanes, [&](int64_t begin, int64_t end) {
    const Passes<T> passes(columns);
    for (int64_t row = begin * lanes; row < std::min(rows, end * lanes); row += lanes) {
      const Lines source{columns, rows, 1, std::min(lanes, rows - row)};
      Lines target = source;
      target.exchanged = g.inverse;
      load_lines(static_cast<const T*>(transposed) + 2 * row, source, passes.first());
      const Complexes<T>* result = plan.of_rows().run(passes.first(), passes.second());
      store_lines(to + 2 * row, target, result, static_cast<T>(g.factor));
    }
  });
}

// `to[k] = a[k] * b[k] * factor` for `count` numbers. `given`, `made`: real and imaginary parts of `a`, or of the
// result, are swapped. All are multiplied in lanes, the last ones too, so that a line has the same bits alone and among
// others (`Plan::run`).
template <class T, bool given = false, bool made = false>
void multiply(const T* a, const T* b, T* to, int64_t count, T factor = 1) {
  constexpr int64_t lanes = kLanes<T>;
  const auto multiply_lanes = [factor](const T* first, const T* second, T* results) {
    const Complexes<T> x = read_numbers(first), y = read_numbers(second);
    const Complexes<T> product = (given ? x.exchanged() : x) * y * factor;
    write_numbers(results, made ? product.exchanged() : product);
  };
  int64_t k = 0;
  for (; k + lanes <= count; k += lanes) multiply_lanes(a + 2 * k, b + 2 * k, to + 2 * k);
  if (k == count) return;
  T first[2 * lanes] = {}, second[2 * lanes] = {};
  std::copy_n(a + 2 * k, 2 * (count - k), first);
  std::copy_n(b + 2 * k, 2 * (count - k), second);
  multiply_lanes(first, second, first);
  std::copy_n(first, 2 * (count - k), to + 2 * k);
}

// The convolution of `a` with the plan's filter, in place; `b` is scratch. Adds `constant` to every result, and returns
// the sum of `a`.
template <class T>
std::complex<T> convolve(const Plan<T>& plan, T* a, T* b, std::complex<T> constant) {
  const int64_t longer = plan.convolved().length();
  transform_line<T>(plan.convolved(), a, b);
  const std::complex<T> sum{b[0], b[1]};
  multiply(b, plan.filter(), b, longer);
  b[0] += constant.real();
  b[1] += constant.imag();
  transform<T>(plan.convolved(), b, a, {1, 1, longer, longer, true});
  return sum;
}

// Bluestein's convolution: jk = (j^2 + k^2 - (k - j)^2) / 2; the last term becomes a convolution, computed by a
// longer transform.
template <class T>
void transform_by_chirp(const Plan<T>& plan, const T* from, T* to, int64_t step, const Geometry& g) {
  const int64_t n = plan.length(), longer = plan.convolved().length();
  const Workspace<T> first = numbers<T>(longer), second = numbers<T>(longer);
  T *a = first, *b = second;
  for (int64_t k = 0; step != 1 && k < n; ++k) std::copy_n(from + 2 * k * step, 2, a + 2 * k);
  const T *given = step == 1 ? from : a, *chirp = plan.chirp();
  if (g.inverse) multiply<T, true>(given, chirp, a, n);
  else multiply(given, chirp, a, n);
  std::fill(a + 2 * n, a + 2 * longer, T(0));
  convolve<T>(plan, a, b, {});
  T* made = step == 1 ? to : b;
  if (g.inverse) multiply<T, false, true>(a, chirp, made, n, static_cast<T>(g.factor));
  else multiply(a, chirp, made, n, static_cast<T>(g.factor));
  for (int64_t k = 0; step != 1 && k < n; ++k) std::copy_n(b + 2 * k, 2, to + 2 * k * step);
}

// Rader's convolution: all numbers but the first, in the order of the powers of a primitive root.
template <class T>
void transform_by_powers(const Plan<T>& plan, const T* from, T* to, int64_t step, const Geometry& g) {
  const int64_t count = plan.convolved().length();
  const Workspace<T> first = numbers<T>(count), second = numbers<T>(count);
  T *a = first, *b = second;
  const auto read = [&](int64_t k) {
    const T* number = from + 2 * k * step;
    return g.inverse ? std::complex<T>{number[1], number[0]} : std::complex<T>{number[0], number[1]};
  };
  const auto write = [&](int64_t k, std::complex<T> number) {
    number *= static_cast<T>(g.factor);
    to[2 * k * step + g.inverse] = number.real();
    to[2 * k * step + !g.inverse] = number.imag();
  };
  const std::complex<T> constant = read(0);
  for (int64_t k = 0; k < count; ++k) {
    const std::complex<T> number = read(plan.powers()[k]);
    a[2 * k] = number.real();
    a[2 * k + 1] = number.imag();
  }
  write(0, constant + convolve<T>(plan, a, b, constant));
  write(1, {a[0], a[1]});
  for (int64_t k = 1; k < count; ++k) write(plan.powers()[count - k], {a[2 * k], a[2 * k + 1]});
}

}  // namespace

template <class T>
void transform(const Plan<T>& plan, const T* from, T* to, const Geometry& g) {
  const int64_t n = plan.length();
  const int64_t adjacent = g.inner == 1 ? g.outer : g.inner;
  if (plan.is_convolution() && (adjacent < kLanes<T> || plan.held() > kLongest))
    return share(g.outer * g.inner, plan.held() * 8, [&](int64_t begin, int64_t end) {
      const auto run = plan.powers() ? transform_by_powers<T> : transform_by_chirp<T>;
      for (int64_t line = begin; line < end; ++line) {
        const int64_t outer = line / g.inner, inner = line % g.inner;
        run(plan, from + 2 * (outer * g.from_step + inner), to + 2 * (outer * g.to_step + inner), g.inner, g);
      }
    });
  if (plan.rows() > 1 && g.inner == 1 && (g.outer < kLanes<T> || n > kLongest))
    return share(g.outer, n, [&](int64_t begin, int64_t end) {
      for (int64_t line = begin; line < end; ++line)
        transform_matrix(plan, from + 2 * line * g.from_step, to + 2 * line * g.to_step, g);
    });
  transform_lanes(plan, from, to, g);
}

template <class T>
void transform_line(const Plan<T>& plan, const T* from, T* to) {
  transform(plan, from, to, {1, 1, plan.length(), plan.length()});
}

template void transform(const Plan<float>&, const float*, float*, const Geometry&);
template void transform(const Plan<double>&, const double*, double*, const Geometry&);
template void transform_line(const Plan<float>&, const float*, float*);
template void transform_line(const Plan<double>&, const double*, double*);

}  // namespace pellucid::fourier
