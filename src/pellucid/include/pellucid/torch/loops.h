// at::native::cpu_kernel: a function of elements run over a TensorIterator, by vectors where memory allows it.
#pragma once

#include "pellucid/torch/iterator.h"

namespace at::native {

namespace detail {

using at::detail::Signature;

template <class T>
void check_holds(const TensorIteratorBase& iterator, int operand) {
  TORCH_CHECK(c10::holds<T>(iterator.dtype(operand)), "cpu_kernel: operand ", operand, " has elements of ",
              iterator.dtype(operand), "; the function has ", c10::name_of<T>(), " there");
}

// The function's operands: results first, a tuple's elements one by one.
template <class Result>
struct Outputs {
  static constexpr size_t count = 1;
  static void check(const TensorIteratorBase& iterator) { check_holds<Result>(iterator, 0); }
  static void put(char** data, const int64_t* strides, int64_t k, const Result& value) {
    *reinterpret_cast<Result*>(data[0] + k * strides[0]) = value;
  }
};
template <class... Results>
struct Outputs<std::tuple<Results...>> {
  static constexpr size_t count = sizeof...(Results);
  static void check(const TensorIteratorBase& iterator) {
    int k = 0;
    (check_holds<Results>(iterator, k++), ...);
  }
  static void put(char** data, const int64_t* strides, int64_t k, const std::tuple<Results...>& values) {
    size_t j = 0;
    const auto put_one = [&](const auto& value) {
      *reinterpret_cast<std::decay_t<decltype(value)>*>(data[j] + k * strides[j]) = value;
      ++j;
    };
    std::apply([&](const auto&... value) { (put_one(value), ...); }, values);
  }
};

template <class Function, class Result, class... Arguments, size_t... I>
void run_row(const Function& function, Signature<Result, Arguments...>, std::index_sequence<I...>, char** data,
             const int64_t* strides, int64_t n) {
  using Out = Outputs<Result>;
  constexpr size_t first = Out::count;
  static_cast<void>(first);
  for (int64_t k = 0; k < n; ++k)
    Out::put(data, strides, k,
             function(*reinterpret_cast<const std::decay_t<Arguments>*>(data[first + I] + k * strides[first + I])...));
}

// Strides as constants, so that the loop vectorises.
template <class Function, class Result, class... Arguments, size_t... I>
bool run_contiguous(const Function& function, Signature<Result, Arguments...>, std::index_sequence<I...>, char** data,
                    const int64_t* strides, int64_t n) {
  if constexpr (Outputs<Result>::count == 1 && !std::is_same_v<Result, std::tuple<Result>>) {
    if (strides[0] != sizeof(Result) || !((strides[1 + I] == sizeof(std::decay_t<Arguments>)) && ...)) return false;
    auto* const to = reinterpret_cast<Result*>(data[0]);
    for (int64_t k = 0; k < n; ++k)
      to[k] = function(reinterpret_cast<const std::decay_t<Arguments>*>(data[1 + I])[k]...);
    return true;
  }
  return false;
}

template <class Function, class Result, class... Arguments>
void check_operands(const TensorIteratorBase& iterator, const Function&, Signature<Result, Arguments...>) {
  constexpr size_t expected = Outputs<Result>::count + sizeof...(Arguments);
  TORCH_CHECK(static_cast<size_t>(iterator.ntensors()) == expected, "cpu_kernel: a function of ", sizeof...(Arguments),
              " elements for ", iterator.ninputs(), " inputs");
  Outputs<Result>::check(iterator);
  int k = static_cast<int>(Outputs<Result>::count);
  (check_holds<std::decay_t<Arguments>>(iterator, k++), ...);
  static_cast<void>(k);
}

template <class Function>
auto row_loop(const Function& function) {
  using Called = at::detail::signature_t<Function>;
  return [&function](char** data, const int64_t* strides, int64_t n) {
    constexpr auto all = std::make_index_sequence<Called::count>();
    if (!run_contiguous(function, Called(), all, data, strides, n)) run_row(function, Called(), all, data, strides, n);
  };
}

// A vector of an input: loaded, or one element repeated where the stride is zero.
template <class T>
vec::Vectorized<T> load(const char* data, int64_t stride, int64_t k) {
  if (stride == 0) return vec::Vectorized<T>(*reinterpret_cast<const T*>(data));
  return vec::Vectorized<T>::loadu(data + k * static_cast<int64_t>(sizeof(T)));
}
template <class Function, class Vectors, class Result, class... Arguments, size_t... I>
void run_vectors(const Function& function, const Vectors& vectors, Signature<Result, Arguments...> called,
                 std::index_sequence<I...> all, char** data, const int64_t* strides, int64_t n) {
  int64_t k = 0;
  const bool loads = strides[0] == sizeof(Result) &&
                     ((strides[1 + I] == sizeof(std::decay_t<Arguments>) || strides[1 + I] == 0) && ...) &&
                     ((sizeof(std::decay_t<Arguments>) == sizeof(Result)) && ...);
  constexpr int64_t size = vec::Vectorized<Result>::size();
  for (; loads && k + size <= n; k += size)
    vectors(load<std::decay_t<Arguments>>(data[1 + I], strides[1 + I], k)...)
        .store(data[0] + k * static_cast<int64_t>(sizeof(Result)));
  char* rest[] = {data[0] + k * strides[0], data[1 + I] + k * strides[1 + I]...};
  run_row(function, called, all, rest, strides, n - k);
}

}  // namespace detail

// output[k] = function(inputs[k]...): elements of the operands' dtypes. A tuple is a result for each output.
template <class Function>
void cpu_kernel(TensorIteratorBase& iterator, const Function& function, int64_t grain = internal::GRAIN_SIZE) {
  detail::check_operands(iterator, function, at::detail::signature_t<Function>());
  iterator.for_each(TensorIteratorBase::loop1d_t(detail::row_loop(function)), grain);
  iterator.cast_outputs();
}
template <class Function>
void cpu_kernel_multiple_outputs(TensorIteratorBase& iterator, const Function& function,
                                 int64_t grain = internal::GRAIN_SIZE) {
  cpu_kernel(iterator, function, grain);
}
// `vectors` computes what `function` does, from Vectorized<T> of each input.
template <bool = true, class Function, class Vectors>
void cpu_kernel_vec(TensorIteratorBase& iterator, const Function& function, const Vectors& vectors,
                    int64_t grain = internal::GRAIN_SIZE) {
  using Called = at::detail::signature_t<Function>;
  detail::check_operands(iterator, function, Called());
  iterator.for_each(TensorIteratorBase::loop1d_t([&](char** data, const int64_t* strides, int64_t n) {
                      detail::run_vectors(function, vectors, Called(), std::make_index_sequence<Called::count>(), data,
                                          strides, n);
                    }),
                    grain);
  iterator.cast_outputs();
}
// In the calling thread, in order: for functions with a state.
template <class Function>
void cpu_serial_kernel(TensorIteratorBase& iterator, const Function& function) {
  detail::check_operands(iterator, function, at::detail::signature_t<Function>());
  iterator.serial_for_each(TensorIteratorBase::loop1d_t(detail::row_loop(function)), {0, iterator.numel()});
  iterator.cast_outputs();
}

}  // namespace at::native
