// Transforms of an even number of contiguous real numbers.
//
// 2h real numbers are transformed as h complex ones; the real numbers' own transform then follows from sums and
// differences of opposite elements. Lines in lanes are combined there, others in memory.
#include <type_traits>

#include "library/fourier.h"
#include "library/fourier_groups.h"
#include "library/fourier_plan.h"

namespace pellucid::fourier {
namespace {

// From elements k and h - k of the complex numbers' transform to those of the real numbers' own.
struct Unfold {
  template <class T, class Root>
  void operator()(Complexes<T>& a, Complexes<T>& b, const Root& root) const {
    const auto even = (a + b.conjugate()) * T(0.5), odd = (a - b.conjugate()) * T(0.5) * root;
    a = even - odd.times_i();
    b = (even + odd.times_i()).conjugate();
  }
};

// The inverse: twice the elements whose inverse transform is the 2h real numbers.
struct Refold {
  template <class T, class Root>
  void operator()(Complexes<T>& a, Complexes<T>& b, const Root& root) const {
    const auto even = a + b.conjugate(), odd = (a - b.conjugate()) * conjugate(root);
    a = even + odd.times_i();
    b = (even - odd.times_i()).conjugate();
  }
  template <class T>
  static Complexes<T> conjugate(const Complexes<T>& root) {
    return root.conjugate();
  }
  template <class T>
  static std::complex<T> conjugate(std::complex<T> root) {
    return std::conj(root);
  }
};

// Combines opposite elements of a line in memory: those of `from` to those of `to`, which may be the same, times
// `factor`.
template <class Pair, class T>
void combine_line(const T* from, T* to, int64_t h, const std::complex<T>* roots, T factor) {
  constexpr int64_t lanes = kLanes<T>;
  int64_t k = 1;
  for (; 2 * (k + lanes) <= h; k += lanes) {
    const int64_t high = 2 * (h - k - lanes + 1);
    Complexes<T> a = read_numbers(from + 2 * k), b = reversed(read_numbers(from + high));
    Pair()(a, b, read_numbers(reinterpret_cast<const T*>(roots + k)));
    write_numbers(to + 2 * k, a * factor);
    write_numbers(to + high, reversed(b * factor));
  }
  for (; 2 * k <= h; ++k) {
    const int64_t low = 2 * k, high = 2 * (h - k);
    Complexes<T> a{}, b{};
    a.re[0] = from[low], a.im[0] = from[low + 1];
    b.re[0] = from[high], b.im[0] = from[high + 1];
    Pair()(a, b, roots[k]);
    to[high] = b.re[0] * factor, to[high + 1] = b.im[0] * factor;
    to[low] = a.re[0] * factor, to[low + 1] = a.im[0] * factor;
  }
}

template <class T>
void unfold(T* z, int64_t h, const std::complex<T>* roots, T factor) {
  const T first = z[0], second = z[1];
  combine_line<Unfold>(z, z, h, roots, factor);
  z[0] = (first + second) * factor;
  z[2 * h] = (first - second) * factor;
  z[1] = z[2 * h + 1] = 0;
}
template <class T>
void refold(const T* x, T* z, int64_t h, const std::complex<T>* roots) {
  const T first = x[0], last = x[2 * h];
  combine_line<Refold>(x, z, h, roots, T(1));
  z[0] = first + last;
  z[1] = first - last;
}

// The same for lines in lanes.
template <class Pair, class T>
void combine_lanes(Complexes<T>* z, int64_t h, const std::complex<T>* roots) {
  for (int64_t k = 1; 2 * k <= h; ++k) {
    Complexes<T> a = z[k], b = z[h - k];
    Pair()(a, b, roots[k]);
    z[h - k] = b;
    z[k] = a;
  }
}
template <class T>
void unfold(Complexes<T>* z, int64_t h, const std::complex<T>* roots) {
  combine_lanes<Unfold>(z, h, roots);
  const Complexes<T> first = z[0];
  z[0] = {first.re + first.im, Vector<T>{}};
  z[h] = {first.re - first.im, Vector<T>{}};
}
template <class T>
void refold(Complexes<T>* z, int64_t h, const std::complex<T>* roots) {
  combine_lanes<Refold>(z, h, roots);
  z[0] = {z[0].re + z[h].re, z[0].re - z[h].re};
}

// Runs `body(passes, line, count)` for groups of lines that fill the lanes, or the last ones; passes have one number
// more than the plan holds.
template <class T, class Body>
void each_group(const Plan<T>& plan, int64_t lines, Body&& body) {
  const int64_t lanes = kLanes<T>, held = plan.held() + 1;
  share((lines + lanes - 1) / lanes, held * lanes, [&](int64_t begin, int64_t end) {
    const Passes<T> passes(held);
    for (int64_t group = begin; group < end; ++group)
      body(passes, group * lanes, std::min(lanes, lines - group * lanes));
  });
}

// Runs `body(first, last)` over ranges of lines: few enough to stay in the cache, and many enough to fill the lanes.
template <class T, class Body>
void share_lines(int64_t lines, int64_t length, Body&& body) {
  const int64_t step = std::max<int64_t>(4, kParallelGrain / length / kLanes<T>) * kLanes<T>;
  parallel_blocks((lines + step - 1) / step,
                  [&](int64_t block) { body(block * step, std::min(lines, (block + 1) * step)); });
}

template <class T>
bool fills_lanes(const Plan<T>& plan, int64_t lines) {
  return lines >= kLanes<T> && plan.held() <= kLongest;
}

}  // namespace

template <class T>
void transform_reals(const T* from, T* to, int64_t lines, int64_t length, double factor) {
  const int64_t h = length / 2, half = h + 1;
  const auto plan = plan_of<T>(h);
  const std::complex<T>* roots = plan->half_roots();
  if (fills_lanes(*plan, lines))
    return each_group(*plan, lines, [&](const Passes<T>& passes, int64_t line, int64_t count) {
      load_lines(from + line * length, {h, 1, h, count}, passes.first());
      Complexes<T>* result = plan->run(passes.first(), passes.second());
      unfold(result, h, roots);
      store_lines(to + 2 * line * half, {half, 1, half, count}, result, static_cast<T>(factor));
    });
  share_lines<T>(lines, length, [&](int64_t begin, int64_t end) {
    T* rows = to + 2 * begin * half;
    transform(*plan, from + begin * length, rows, {end - begin, 1, h, half});
    for (int64_t line = 0; line < end - begin; ++line) unfold(rows + 2 * line * half, h, roots, static_cast<T>(factor));
  });
}

template <class T>
void transform_to_reals(const T* from, T* to, int64_t lines, int64_t length, double factor) {
  const int64_t h = length / 2, half = h + 1;
  const auto plan = plan_of<T>(h);
  const std::complex<T>* roots = plan->half_roots();
  if (fills_lanes(*plan, lines))
    return each_group(*plan, lines, [&](const Passes<T>& passes, int64_t line, int64_t count) {
      Complexes<T>* z = passes.first();
      load_lines(from + 2 * line * half, {half, 1, half, count}, z);
      refold(z, h, roots);
      for (int64_t k = 0; k < h; ++k) z[k] = z[k].exchanged();
      const Complexes<T>* result = plan->run(z, passes.second());
      store_lines(to + line * length, {h, 1, h, count, true}, result, static_cast<T>(factor));
    });
  share_lines<T>(lines, length, [&](int64_t begin, int64_t end) {
    T* rows = to + begin * length;
    for (int64_t line = begin; line < end; ++line) refold(from + 2 * line * half, to + line * length, h, roots);
    transform<T>(*plan, rows, rows, {end - begin, 1, h, h, true, factor});
  });
}

template void transform_reals(const float*, float*, int64_t, int64_t, double);
template void transform_reals(const double*, double*, int64_t, int64_t, double);
template void transform_to_reals(const float*, float*, int64_t, int64_t, double);
template void transform_to_reals(const double*, double*, int64_t, int64_t, double);

}  // namespace pellucid::fourier
