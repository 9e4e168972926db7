#include "library/fourier_plan.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <numbers>

#include "library/fourier.h"
#include "threads/fork_safe_mutex.h"

namespace pellucid::fourier {
namespace {

constexpr int64_t kShortest = 64;          // shorter lines are not split into a matrix
constexpr size_t kRemembered = 32u << 20;  // bytes of roots that are cached

// Radices whose product is `length`; empty if a prime factor is too large.
std::vector<int> radices_of(int64_t length) {
  std::vector<int> found;
  for (int radix : {4, 2, 3, 5, 7, 11, 13})
    for (; length % radix == 0; length /= radix) found.push_back(radix);
  if (length > 1) found.clear();
  return found;
}

// The factor of `length` closest to its square root; multiples of the number of lanes take precedence.
int64_t middle_factor(int64_t length, int64_t lanes) {
  int64_t best = 1;
  double least = 1e300;
  for (int64_t factor = 2; factor * factor <= length * 8 && factor < length; ++factor) {
    if (length % factor) continue;
    const double ratio =
        std::abs(std::log2(static_cast<double>(factor) / (static_cast<double>(length) / static_cast<double>(factor))));
    const int partial = (factor % lanes != 0) + (length / factor % lanes != 0);
    if (const double cost = ratio + 3.0 * partial; cost < least) {
      least = cost;
      best = factor;
    }
  }
  return best;
}

}  // namespace

template <class T>
Roots<T>::Roots(int64_t count)
    : step_(std::max<int64_t>(1, static_cast<int64_t>(std::sqrt(static_cast<double>(count))))) {
  const auto root = [count](int64_t k) {
    const long double angle =
        -2 * std::numbers::pi_v<long double> * static_cast<long double>(k) / static_cast<long double>(count);
    return std::complex<long double>{std::cos(angle), std::sin(angle)};
  };
  for (int64_t k = 0; k < step_; ++k) fine_.push_back(root(k));
  for (int64_t k = 0; k <= count / step_; ++k) coarse_.push_back(root(k * step_));
}

template <class T>
std::complex<T> Roots<T>::operator[](int64_t k) const {
  const auto &a = coarse_[k / step_], &b = fine_[k % step_];
  return {static_cast<T>(a.real() * b.real() - a.imag() * b.imag()),
          static_cast<T>(a.real() * b.imag() + a.imag() * b.real())};
}

template <class T>
Plan<T>::Plan(int64_t length) : length_(length), radices_(radices_of(length)) {
  const Roots<T> halves(2 * length);
  for (int64_t k = 0; 2 * k <= length; ++k) half_roots_.push_back(halves[k]);
  if (length == 1) return;
  if (radices_.empty()) plan_convolution();
  else plan_passes();
  if (!radices_.empty() && length >= kShortest) plan_matrix();
}

template <class T>
void Plan<T>::plan_passes() {
  int64_t left = length_;
  for (const int radix : radices_) {
    const Roots<T> roots(left);
    const int64_t groups = left / radix;
    for (int64_t group = 0; group < groups; ++group)
      for (int k = 1; k < radix; ++k) pass_roots_.push_back(roots[group * k]);
    left = groups;
  }
}

template <class T>
void Plan<T>::plan_matrix() {
  const int64_t rows = middle_factor(length_, kLanes<T>);
  if (rows == 1) return;
  by_columns_ = plan_of<T>(rows);
  by_rows_ = plan_of<T>(length_ / rows);
  const Roots<T> roots(length_);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < length_ / rows; ++column) roots_.push_back(roots[row * column]);
}

template <class T>
void Plan<T>::plan_convolution() {
  int64_t longer = kShortest;
  while (longer < 2 * length_ - 1) longer *= 2;
  convolved_ = plan_of<T>(longer);
  const Roots<T> roots(2 * length_);
  std::vector<std::complex<T>> conjugates(longer);
  for (int64_t k = 0; k < length_; ++k) {
    chirp_.push_back(roots[k * k % (2 * length_)]);
    conjugates[k] = conjugates[k ? longer - k : 0] = std::conj(chirp_.back());
  }
  filter_.resize(longer);
  transform_line(*convolved_, reinterpret_cast<const T*>(conjugates.data()), reinterpret_cast<T*>(filter_.data()));
  for (auto& number : filter_) number /= static_cast<T>(longer);
}

template <class T>
const Complexes<T>* Plan<T>::run(Complexes<T>* first, Complexes<T>* second) const {
  int64_t left = length_, run = 1;
  const std::complex<T>* roots = pass_roots_.data();
  for (const int radix : radices_) {
    const int64_t groups = left / radix;
    switch (radix) {
      case 2: pass<T, 2>(first, second, groups, run, roots); break;
      case 3: pass<T, 3>(first, second, groups, run, roots); break;
      case 4: pass<T, 4>(first, second, groups, run, roots); break;
      case 5: pass<T, 5>(first, second, groups, run, roots); break;
      case 7: pass<T, 7>(first, second, groups, run, roots); break;
      case 11: pass<T, 11>(first, second, groups, run, roots); break;
      default: pass<T, 13>(first, second, groups, run, roots); break;
    }
    roots += groups * (radix - 1);
    run *= radix;
    left = groups;
    std::swap(first, second);
  }
  return first;
}

FORK_SAFE static ForkSafeMutex mutex;

// The plans of one type that are remembered; used under the mutex.
template <class T>
struct Plans {
  std::map<int64_t, std::shared_ptr<const Plan<T>>> by_length;
  size_t bytes = 0;
};
template <class T>
static Plans<T>& plans() {
  static auto* made = new Plans<T>;
  return *made;
}

template <class T>
std::shared_ptr<const Plan<T>> plan_of(int64_t length) {
  {
    const std::lock_guard lock(mutex);
    const auto& known = plans<T>().by_length;
    if (const auto found = known.find(length); found != known.end()) return found->second;
  }
  auto made = std::make_shared<const Plan<T>>(length);  // constructs the plans of its parts, so not under the lock
  const std::lock_guard lock(mutex);
  Plans<T>& known = plans<T>();
  if (known.bytes + made->bytes() > kRemembered) known = {};
  known.bytes += made->bytes();
  return known.by_length.emplace(length, std::move(made)).first->second;
}

template std::shared_ptr<const Plan<float>> plan_of<float>(int64_t length);
template std::shared_ptr<const Plan<double>> plan_of<double>(int64_t length);
template class Plan<float>;
template class Plan<double>;
template class Roots<float>;
template class Roots<double>;

}  // namespace pellucid::fourier
