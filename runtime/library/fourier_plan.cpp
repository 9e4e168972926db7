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

// `base` to the power of `exponent`, modulo `modulus`, which is below 2**31.
int64_t power_modulo(int64_t base, int64_t exponent, int64_t modulus) {
  int64_t result = 1;
  for (; exponent; exponent /= 2, base = base * base % modulus)
    if (exponent % 2) result = result * base % modulus;
  return result;
}

// A number whose powers are all numbers from 1 to `length` - 1, modulo `length`; 0: the length is composite, too large,
// or one less than it has a large prime factor.
int64_t primitive_root(int64_t length) {
  const std::vector<int> factors = radices_of(length - 1);
  if (factors.empty() || length >= int64_t{1} << 31) return 0;
  for (int64_t factor = 2; factor * factor <= length; ++factor)
    if (length % factor == 0) return 0;
  for (int64_t root = 2;; ++root) {
    const auto is_shorter = [&](int factor) {
      const int prime = factor == 4 ? 2 : factor;
      return power_modulo(root, (length - 1) / prime, length) == 1;
    };
    if (std::none_of(factors.begin(), factors.end(), is_shorter)) return root;
  }
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
  if (!radices_.empty()) {
    plan_passes();
    if (length >= kShortest) plan_matrix();
  } else if (const int64_t root = primitive_root(length)) {
    plan_powers(root);
  } else {
    plan_chirp();
  }
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
void Plan<T>::plan_chirp() {
  int64_t longer = kShortest;
  while (longer < 2 * length_ - 1) longer *= 2;
  convolved_ = plan_of<T>(longer);
  const Roots<T> roots(2 * length_);
  std::vector<std::complex<T>> conjugates(longer);
  for (int64_t k = 0; k < length_; ++k) {
    chirp_.push_back(roots[k * k % (2 * length_)]);
    conjugates[k] = conjugates[k ? longer - k : 0] = std::conj(chirp_.back());
  }
  plan_filter(conjugates);
}

// x[g^j] and X[g^-k] for j, k below length - 1: their products jk become differences j - k.
template <class T>
void Plan<T>::plan_powers(int64_t primitive_root) {
  const int64_t count = length_ - 1;
  convolved_ = plan_of<T>(count);
  for (int64_t k = 0, power = 1; k < count; ++k, power = power * primitive_root % length_) powers_.push_back(power);
  const Roots<T> roots(length_);
  std::vector<std::complex<T>> filter;
  for (int64_t k = 0; k < count; ++k) filter.push_back(roots[powers_[k ? count - k : 0]]);
  plan_filter(filter);
}

template <class T>
void Plan<T>::plan_filter(const std::vector<std::complex<T>>& filter) {
  filter_.resize(filter.size());
  transform_line(*convolved_, reinterpret_cast<const T*>(filter.data()), reinterpret_cast<T*>(filter_.data()));
  for (auto& number : filter_) number /= static_cast<T>(filter.size());
}

template <class T>
Complexes<T>* Plan<T>::run(Complexes<T>* first, Complexes<T>* second) const {
  if (!convolved_) return run_passes(first, second);
  return powers_.empty() ? run_chirp(first, second) : run_powers(first, second);
}

template <class T>
Complexes<T>* Plan<T>::run_passes(Complexes<T>* first, Complexes<T>* second) const {
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

template <class T>
Complexes<T>* Plan<T>::run_chirp(Complexes<T>* first, Complexes<T>* second) const {
  const int64_t longer = convolved_->length();
  for (int64_t k = 0; k < length_; ++k) first[k] = first[k] * chirp_[k];
  std::fill_n(first + length_, longer - length_, Complexes<T>{});
  Complexes<T>* z = convolved_->run(first, second);
  for (int64_t k = 0; k < longer; ++k) z[k] = (z[k] * filter_[k]).exchanged();
  z = convolved_->run(z, z == first ? second : first);
  for (int64_t k = 0; k < length_; ++k) z[k] = z[k].exchanged() * chirp_[k];
  return z;
}

template <class T>
Complexes<T>* Plan<T>::run_powers(Complexes<T>* first, Complexes<T>* second) const {
  const int64_t count = length_ - 1;
  const Complexes<T> constant = first[0];
  for (int64_t k = 0; k < count; ++k) second[k] = first[powers_[k]];
  Complexes<T>* z = convolved_->run(second, first);
  const Complexes<T> sum = z[0] + constant;
  for (int64_t k = 0; k < count; ++k) z[k] = z[k] * filter_[k];
  z[0] = z[0] + constant;
  for (int64_t k = 0; k < count; ++k) z[k] = z[k].exchanged();
  z = convolved_->run(z, z == first ? second : first);
  Complexes<T>* result = z == first ? second : first;
  result[0] = sum;
  for (int64_t k = 0; k < count; ++k) result[powers_[k ? count - k : 0]] = z[k].exchanged();
  return result;
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
