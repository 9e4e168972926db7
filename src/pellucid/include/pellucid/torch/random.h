// Random numbers with a generator: words, distributions with PyTorch's numbers, seeds.
#pragma once

#include "pellucid/torch/tensor.h"

namespace at {
namespace detail {

inline const Generator& getDefaultCPUGenerator() {
  static const auto* const found = new Generator(Generator::adopt(table().default_generator()));
  return *found;
}
inline Generator createCPUGenerator(uint64_t seed = 67280421310721) {
  return Generator::adopt(table().new_generator(seed));
}

}  // namespace detail

// What `get_generator_or_default` points to: names of PyTorch's class over a generator. Words need `mutex_`.
class CPUGeneratorImpl {
 public:
  CPUGeneratorImpl(GeneratorHandle* generator, std::mutex& mutex) : mutex_(mutex), generator_(generator) {}
  uint32_t random() { return static_cast<uint32_t>(detail::table().random_word(generator_, 32)); }
  uint64_t random64() { return detail::table().random_word(generator_, 64); }
  double normal(double mean, double deviation) { return detail::table().random_normal(generator_, mean, deviation); }
  uint64_t current_seed() const { return detail::table().generator_seed(generator_, nullptr); }
  void set_current_seed(uint64_t seed) { detail::table().generator_seed(generator_, &seed); }
  std::mutex& mutex_;

 private:
  GeneratorHandle* const generator_;
};

// The pointer is valid as long as the reference to the generator that it was found in, and copies of that.
template <class Implementation>
Implementation* check_generator(const optional<Generator>& generator) {
  TORCH_CHECK(generator.has_value() && generator->defined(), "check_generator: there is no generator");
  return generator->get<Implementation>();
}
template <class Implementation>
Implementation* get_generator_or_default(const optional<Generator>& generator, const Generator& otherwise) {
  return generator.has_value() && generator->defined() ? generator->get<Implementation>()
                                                       : otherwise.get<Implementation>();
}
template <class Implementation>
Generator make_generator(uint64_t seed = 67280421310721) {
  return detail::createCPUGenerator(seed);
}

template <class T>
struct uniform_real_distribution {
  uniform_real_distribution(T from, T to) : from_(from), to_(to) { TORCH_CHECK(from <= to, "from must be at most to"); }
  template <class G>
  T operator()(const G& generator) {
    constexpr int bits = std::numeric_limits<T>::digits;
    const uint64_t word = bits == 53 ? generator->random64() : generator->random();
    return static_cast<T>(word & ((uint64_t{1} << bits) - 1)) * std::ldexp(T(1), -bits) * (to_ - from_) + from_;
  }

 private:
  T from_, to_;
};
template <class T>
struct normal_distribution {
  normal_distribution(T mean, T deviation) : mean_(mean), deviation_(deviation) {}
  template <class G>
  T operator()(const G& generator) {
    return static_cast<T>(generator->normal(mean_, deviation_));
  }

 private:
  T mean_, deviation_;
};
template <class T>
struct bernoulli_distribution {
  explicit bernoulli_distribution(T p) : p_(p), uniform_(0, 1) {}
  template <class G>
  T operator()(const G& generator) {
    return uniform_(generator) < p_;
  }

 private:
  T p_;
  uniform_real_distribution<T> uniform_;
};

inline Generator manual_seed(uint64_t seed) {
  Generator generator = detail::getDefaultCPUGenerator();
  generator.set_current_seed(seed);
  return generator;
}

}  // namespace at
