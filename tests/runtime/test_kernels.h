// Kernels compiled by the host compiler, with the signature of the pack's, for tests of the drivers.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "core/tensor.h"
#include "kernels/kernel_ref.h"

namespace kernels_for_tests {

using namespace pellucid;

inline void set_kernel(KernelRef& ref, KernelFunction function) {
  ref.function = function;
  ref.resolved = true;
}

template <class T>
T read(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <class T>
void write(char* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

// out = a + b * p0
template <class T>
int64_t add_scaled(char* const* data, const int64_t* sizes, const int64_t* strides, const uint64_t* params) {
  double scale;
  std::memcpy(&scale, params, sizeof scale);
  for (int64_t outer = 0; outer < sizes[1]; ++outer)
    for (int64_t inner = 0; inner < sizes[0]; ++inner) {
      const auto at = [&](int k) { return data[k] + inner * strides[2 * k] + outer * strides[2 * k + 1]; };
      write<T>(at(0), static_cast<T>(read<T>(at(1)) + read<T>(at(2)) * static_cast<T>(scale)));
    }
  return 0;
}

// Sum into an accumulator of type A. sizes {kept, reduced}.
template <class T, class A>
int64_t sum(char* const* data, const int64_t* sizes, const int64_t* strides, const uint64_t*) {
  for (int64_t kept = 0; kept < sizes[0]; ++kept) {
    A total{0};
    for (int64_t i = 0; i < sizes[1]; ++i)
      total += static_cast<A>(read<T>(data[1] + kept * strides[2] + i * strides[3]));
    write<A>(data[0] + kept * strides[0], total);
  }
  return 0;
}

template <class T>
int64_t argmax(char* const* data, const int64_t* sizes, const int64_t* strides, const uint64_t* params) {
  for (int64_t kept = 0; kept < sizes[0]; ++kept) {
    int64_t best = 0;
    const auto at = [&](int64_t i) { return read<T>(data[2] + kept * strides[4] + i * strides[5]); };
    for (int64_t i = 1; i < sizes[1]; ++i)
      if (at(i) > at(best)) best = i;
    write<T>(data[0] + kept * strides[0], at(best));
    write<int64_t>(data[1] + kept * strides[2], best + static_cast<int64_t>(params[0]));
  }
  return 0;
}

struct Random {
  std::mt19937 engine{42};
  int64_t below(int64_t bound) { return static_cast<int64_t>(engine() % static_cast<uint64_t>(bound)); }
};

template <class T>
Tensor random_tensor(std::span<const int64_t> sizes, DType dtype, Random& random) {
  Tensor tensor = empty(sizes, dtype);
  for (int64_t i = 0; i < tensor->numel; ++i) tensor->host_as<T>()[i] = static_cast<T>(random.below(100));
  return tensor;
}

// Calls `visit(index)` for every index of `sizes`, row-major.
template <class Visit>
void for_each_index(std::span<const int64_t> sizes, Visit&& visit) {
  std::vector<int64_t> index(sizes.size());
  for (const int64_t size : sizes)
    if (size == 0) return;
  for (;;) {
    visit(index);
    size_t axis = sizes.size();
    while (axis > 0 && ++index[axis - 1] == sizes[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

inline char* element(TensorImpl& tensor, const std::vector<int64_t>& index) {
  int64_t offset = 0;
  for (size_t i = 0; i < index.size(); ++i) offset += index[i] * tensor.strides[i];
  return tensor.host() + offset * static_cast<int64_t>(item_size(tensor.dtype));
}

}  // namespace kernels_for_tests
