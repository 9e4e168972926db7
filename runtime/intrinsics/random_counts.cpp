// Random numbers by rejection: gamma variates, Poisson and binomial counts, drawn as PyTorch draws them.
//
// The number of words that a draw takes varies with its rejections, so draws from the CPU's stream are sequential. On a
// device with a generator each element has a subsequence of its own (core/philox_generator.h); the CPU computes it.
#include <array>
#include <cmath>

#include "core/backend.h"
#include "core/error.h"
#include "intrinsics/kernels.h"
#include "intrinsics/pausable_lock.h"
#include "intrinsics/random_fill.h"
#include "kernels/copy.h"
#include "kernels/fallback.h"
#include "kernels/host_shadow.h"

namespace pellucid {
namespace {

// Marsaglia and Tsang 2000: the cube of a shifted normal number, accepted or rejected. For a shape below 1: a
// power of a uniform number times the variate for the shape plus one.
template <class Stream>
double draw_gamma(Stream& stream, double shape) {
  double scale = 1;
  if (!(shape >= 0)) return NAN;
  if (shape < 1) {
    if (shape == 0) return 0;
    scale = std::pow(1 - stream.uniform(), 1 / shape);
    shape += 1;
  }
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    double x, y;
    do {
      x = stream.normal();
      y = 1 + c * x;
    } while (y <= 0);
    const double v = y * y * y, u = 1 - stream.uniform(), xx = x * x;
    const bool is_inside = u < 1 - 0.0331 * xx * xx;
    if (is_inside || std::log(u) < 0.5 * xx + d * (1 - v + std::log(v))) return scale * d * v;
  }
}

// Low rates: counts uniform numbers until their product falls below exp(-rate). High rates: Hörmann 1993, PTRS.
template <class Stream>
double draw_poisson(Stream& stream, double rate) {
  if (rate == 0) return 0;
  if (rate < 10) {
    const double limit = std::exp(-rate);
    double count = 0;
    for (double product = stream.uniform(); product > limit; product *= stream.uniform()) ++count;
    return count;
  }
  const double b = 0.931 + 2.53 * std::sqrt(rate), a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), limit = 0.9277 - 3.6224 / (b - 2);
  const double log_rate = std::log(rate);
  for (;;) {
    const double u = stream.uniform() - 0.5, v = stream.uniform();
    const double us = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / us + b) * u + rate + 0.43);
    if (us >= 0.07 && v <= limit) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    const double height = std::log(v) + std::log(inverse_alpha) - std::log(a / (us * us) + b);
    if (height <= -rate + k * log_rate - std::lgamma(k + 1)) return k;
  }
}

// The remainder of Stirling's formula: log(k!) minus its approximation.
double stirling_tail(double k) {
  static const auto small = [] {
    std::array<double, 10> tails;
    for (size_t n = 0; n < tails.size(); ++n) {
      const double next = static_cast<double>(n) + 1;
      tails[n] = std::lgamma(next) - ((next - 0.5) * std::log(next) - next + 0.5 * std::log(2 * M_PI));
    }
    return tails;
  }();
  if (k < 10) return small[static_cast<size_t>(k)];
  const double next = k + 1, square = next * next;
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / next;
}

// Counts successes until their waiting times, which are geometric, exceed the number of trials.
template <class Stream>
double draw_few_successes(Stream& stream, double trials, double chance) {
  const double log_failure = std::log1p(-chance);
  double successes = 0;
  for (double time = 0;; ++successes) {
    time += std::ceil(std::log(stream.uniform()) / log_failure);
    if (time > trials) return successes;
  }
}

// Hörmann 1993, BTRS.
template <class Stream>
double draw_many_successes(Stream& stream, double trials, double chance) {
  const double deviation = std::sqrt(trials * chance * (1 - chance));
  const double b = 1.15 + 2.53 * deviation, a = -0.0873 + 0.0248 * b + 0.01 * chance;
  const double c = trials * chance + 0.5, limit = 0.92 - 4.2 / b, odds = chance / (1 - chance);
  const double alpha = (2.83 + 5.1 / b) * deviation, m = std::floor((trials + 1) * chance);
  for (;;) {
    const double u = stream.uniform() - 0.5, v = stream.uniform();
    const double us = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / us + b) * u + c);
    if (us >= 0.07 && v <= limit) return k;
    if (k < 0 || k > trials) continue;
    const double bound = (m + 0.5) * std::log((m + 1) / (odds * (trials - m + 1))) +
                         (trials + 1) * std::log((trials - m + 1) / (trials - k + 1)) +
                         (k + 0.5) * std::log(odds * (trials - k + 1) / (k + 1)) + stirling_tail(m) +
                         stirling_tail(trials - m) - stirling_tail(k) - stirling_tail(trials - k);
    if (std::log(v * alpha / (a / (us * us) + b)) <= bound) return k;
  }
}

template <class Stream>
double draw_binomial(Stream& stream, double trials, double chance) {
  if (!(trials > 0) || !(chance > 0)) return 0;
  if (chance >= 1 || std::isinf(trials)) return trials;
  const bool counts_failures = chance > 0.5;
  const double rarer = counts_failures ? 1 - chance : chance;
  const auto draw = trials * rarer >= 10 ? draw_many_successes<Stream> : draw_few_successes<Stream>;
  const double found = draw(stream, trials, rarer);
  return counts_failures ? trials - found : found;
}

// The CPU's stream, whose lock the caller holds.
struct Locked {
  HostGenerator& generator;
  double uniform() const { return generator.uniform_locked(); }
  double normal() const { return generator.normal_locked(0, 1); }
};

constexpr uint64_t kReserved = 1024;  // words of a device's subsequence: more than rejections ever take

template <int kGiven, class Draw>
void replace_from_subsequences(const char* op, TensorImpl& given, PhiloxGenerator& generator, Draw&& draw) {
  note_fallback(backend_of(given.device), op, "rejection");
  const Tensor here = copy_to_device(given, Device{});
  double* values = here->host_as<double>();
  const PhiloxGenerator::Position start = generator.take(kReserved);
  for (int64_t i = 0; i < given.numel; i += kGiven) {
    PhiloxSequence stream(start, static_cast<uint64_t>(i / kGiven));
    values[i] = draw(stream, values + i);
  }
  copy_across_devices(given, *here, false);
}

// Replaces the first of every `kGiven` numbers by draw(stream, all of them).
template <int kGiven, class Draw>
void replace_each(const char* op, TensorImpl& given, Generator& generator, Draw&& draw) {
  if (given.dtype != DType::Float64 || !given.is_contiguous() || given.numel % kGiven)
    raise(ErrorKind::Type, "the parameters of random numbers must be contiguous float64");
  if (given.numel == 0 || given.device.type == DeviceType::Meta) return;
  if (generator.device.type != DeviceType::CPU)
    return replace_from_subsequences<kGiven>(op, given, static_cast<PhiloxGenerator&>(generator), draw);
  double* values = given.host_as<double>();
  Locked stream{as_host(generator)};
  PausableLock lock(stream.generator);
  for (int64_t i = 0; i < given.numel; i += kGiven) {
    lock.pause_after(i);
    values[i] = draw(stream, values + i);
  }
}

}  // namespace

void fill_gamma(TensorImpl& shapes, Generator& generator) {
  replace_each<1>("pellucid::_draw_gamma_", shapes, generator,
                  [](auto& stream, const double* given) { return draw_gamma(stream, given[0]); });
}

void fill_poisson(TensorImpl& rates, Generator& generator) {
  replace_each<1>("pellucid::_draw_poisson_", rates, generator,
                  [](auto& stream, const double* given) { return draw_poisson(stream, given[0]); });
}

void fill_binomial(TensorImpl& pairs, Generator& generator) {
  replace_each<2>("pellucid::_draw_binomial_", pairs, generator,
                  [](auto& stream, const double* given) { return draw_binomial(stream, given[0], given[1]); });
}

}  // namespace pellucid
