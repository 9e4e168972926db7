// Nanoseconds per call of the pointwise handler inside C++, beside its parts. Not run by the tests:
// tools/build.py, then compile this with the runtime's core and kernels objects.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "core/allocator.h"
#include "core/dispatcher.h"
#include "kernels/pointwise.h"
#include "test_kernels.h"

using namespace kernels_for_tests;

namespace {

int64_t add_floats(char* const* data, const int64_t* sizes, const int64_t* strides, const uint64_t*) {
  if (strides[0] != 4 || strides[2] != 4 || strides[4] != 4) return add_scaled<float>(data, sizes, strides, nullptr);
  auto* out = reinterpret_cast<float*>(data[0]);
  auto *a = reinterpret_cast<const float*>(data[1]), *b = reinterpret_cast<const float*>(data[2]);
  for (int64_t i = 0; i < sizes[0]; ++i) out[i] = a[i] + b[i];
  return 0;
}

template <class Body>
void time(const char* only, const char* what, Body&& body) {
  if (!std::strstr(what, only)) return;
  double best = 1e9;
  for (int round = 0; round < 2000; ++round) {
    constexpr int kCalls = 500;
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) body();
    const std::chrono::duration<double, std::nano> passed = std::chrono::steady_clock::now() - start;
    best = std::min(best, passed.count() / kCalls);
  }
  std::printf("%-36s %6.1f ns\n", what, best);
}

}  // namespace

namespace pellucid {

const ElementFunction* find_element_function(const OpCall&, PointwiseKey key) {
  auto* function = new ElementFunction;
  set_kernel(function->kernel, add_floats);
  function->num_outputs = 1;
  function->outputs[0] = DType::Float32;
  function->inputs[function->num_inputs++] = {0, DType::Float32};
  if (key.is_tensor(1)) function->inputs[function->num_inputs++] = {1, DType::Float32};
  return function;
}

void check_numbers(const OpCall&, const ElementFunction&) {}

}  // namespace pellucid

// With an argument: only the cases whose name contains it.
int main(int count, char** arguments) {
  const char* only = count > 1 ? arguments[1] : "";

  OpRecord& add = *define_op("add(Tensor self, Tensor|Scalar other, *, Scalar alpha=1) -> Tensor", "bench");
  add.kind = OpKind::Pointwise;
  add.kind_data = std::make_unique<PointwiseData>(add.schema, 3u, false, false);
  register_kernel(add, Key::CPU, {handle_pointwise, nullptr});
  const int64_t sizes[] = {4, 4}, row_sizes[] = {4};
  const Tensor a = empty(sizes, DType::Float32), b = empty(sizes, DType::Float32),
               row = empty(row_sizes, DType::Float32);
  const auto call = [&](const Tensor& other) {
    Value args[] = {Value::of(a.get()), Value::of(other.get()), Value::of_int(1)}, rets[1];
    OpCall op_call{&add, args, rets, 3, {}};
    dispatch(op_call);
    Tensor::adopt(rets[0].tensor);
  };
  std::atomic<int> counter{0};
  time(only, "atomic increment and decrement", [&] {
    ++counter;
    --counter;
  });
  time(only, "block taken and freed", [] { free_block(allocate_block(64, 0), 0); });
  time(only, "empty tensor of 16 elements", [&] { empty(sizes, DType::Float32); });
  time(only, "a + b, 16 elements", [&] { call(b); });
  time(only, "a + row, broadcast", [&] { call(row); });
}
