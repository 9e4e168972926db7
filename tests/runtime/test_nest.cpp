#include <algorithm>
#include <array>

#include "../sanitizers/check.h"
#include "core/thread_pool.h"
#include "kernels/nest.h"
#include "kernels/reduce.h"
#include "kernels/transpose.h"
#include "test_kernels.h"

using namespace kernels_for_tests;

namespace {

std::vector<int64_t> byte_strides(const TensorImpl& tensor) {
  std::vector<int64_t> strides(tensor.strides, tensor.strides + tensor.ndim);
  for (int64_t& stride : strides) stride *= static_cast<int64_t>(item_size(tensor.dtype));
  return strides;
}

// `tensor` with some axes broadcast, exchanged or stepped over.
Tensor random_view(const std::vector<int64_t>& sizes, DType dtype, Random& random, bool broadcasts) {
  const size_t ndim = sizes.size();
  std::vector<int64_t> stored(sizes), steps(ndim, 1), order(ndim);
  for (size_t i = 0; i < ndim; ++i) {
    if (broadcasts && random.below(4) == 0) stored[i] = 1;
    if (random.below(4) == 0) steps[i] = 2;
    order[i] = static_cast<int64_t>(i);
  }
  std::shuffle(order.begin(), order.end(), random.engine);
  std::vector<int64_t> permuted(ndim), strides(ndim);
  for (size_t i = 0; i < ndim; ++i)
    permuted[i] = stored[static_cast<size_t>(order[i])] * steps[static_cast<size_t>(order[i])];
  const Tensor base = dtype == DType::Int32     ? random_tensor<int32_t>(permuted, dtype, random)
                      : dtype == DType::Float64 ? random_tensor<double>(permuted, dtype, random)
                                                : random_tensor<float>(permuted, dtype, random);
  for (size_t i = 0; i < ndim; ++i) {
    const size_t axis = static_cast<size_t>(order[i]);
    strides[axis] = stored[axis] == 1 && sizes[axis] != 1 ? 0 : base->strides[i] * steps[axis];
  }
  return make_view(*base, sizes, strides, 0);
}

double value_of(TensorImpl& tensor, const std::vector<int64_t>& index) {
  const char* at = element(tensor, index);
  if (tensor.dtype == DType::Int32) return read<int32_t>(at);
  if (tensor.dtype == DType::Int64) return static_cast<double>(read<int64_t>(at));
  return tensor.dtype == DType::Float64 ? read<double>(at) : read<float>(at);
}

}  // namespace

TEST(map_equals_the_naive_loop_for_every_layout_and_dtype) {
  Random random;
  KernelRef kernel;
  set_kernel(kernel, add_scaled<float>);
  const double scale = 3;
  constexpr DType kDTypes[] = {DType::Float32, DType::Float32, DType::Float64, DType::Int32};
  for (int round = 0; round < 400; ++round) {
    std::vector<int64_t> sizes(static_cast<size_t>(random.below(5)));
    for (int64_t& size : sizes) size = random.below(round % 40 == 0 ? 90 : 9);
    const Tensor out = random_view(sizes, kDTypes[random.below(4)], random, false);
    const Tensor a = random_view(sizes, kDTypes[random.below(4)], random, true);
    const Tensor b = random_view(sizes, kDTypes[random.below(4)], random, true);
    const auto out_strides = byte_strides(*out), a_strides = byte_strides(*a), b_strides = byte_strides(*b);
    const MapOperand operands[] = {{out->host(), out->dtype, DType::Float32, out_strides.data()},
                                   {a->host(), a->dtype, DType::Float32, a_strides.data()},
                                   {b->host(), b->dtype, DType::Float32, b_strides.data()}};
    uint64_t params[1];
    std::memcpy(params, &scale, sizeof scale);
    CHECK(run_map({kernel, sizes, operands, 1, params}) == 0);
    for_each_index(sizes, [&](const std::vector<int64_t>& index) {
      CHECK(value_of(*out, index) == value_of(*a, index) + value_of(*b, index) * scale);
    });
  }
}

TEST(large_map_runs_on_threads) {
  Random random;
  KernelRef kernel;
  set_kernel(kernel, add_scaled<float>);
  const double scale = 1;
  uint64_t params[1];
  std::memcpy(params, &scale, sizeof scale);
  const int64_t sizes[] = {300, 700}, transposed[] = {4, 4 * 300}, dense[] = {4 * 700, 4}, repeated[] = {0, 4};
  set_num_threads(4);
  const Tensor a = random_tensor<float>(sizes, DType::Float32, random),
               b = random_tensor<float>(sizes, DType::Float32, random);
  const Tensor out = empty(sizes, DType::Float32);
  const MapOperand operands[] = {{out->host(), DType::Float32, DType::Float32, dense},
                                 {a->host(), DType::Float32, DType::Float32, transposed},
                                 {b->host(), DType::Float32, DType::Float32, repeated}};
  CHECK(run_map({kernel, sizes, operands, 1, params}) == 0);
  for (int64_t i = 0; i < 300; ++i)
    for (int64_t j = 0; j < 700; ++j)
      CHECK(out->host_as<float>()[i * 700 + j] == a->host_as<float>()[j * 300 + i] + b->host_as<float>()[j]);
  set_num_threads(1);
}

TEST(status_of_the_first_failing_block_is_returned) {
  KernelRef kernel;
  set_kernel(kernel, [](char* const* data, const int64_t*, const int64_t*, const uint64_t*) -> int64_t {
    return data[0] - static_cast<char*>(nullptr) > 4 * 32768 ? (2LL << 48) + (data[0] - static_cast<char*>(nullptr))
                                                             : 0;
  });
  const int64_t sizes[] = {1 << 20}, strides[] = {4};
  const MapOperand operands[] = {{static_cast<char*>(nullptr) + 4, DType::Float32, DType::Float32, strides}};
  set_num_threads(3);
  for (int round = 0; round < 20; ++round) {
    const int64_t status = run_map({kernel, sizes, operands, 1, nullptr});
    CHECK(status_code(status) == KernelStatus::ZeroDivision && status_detail(status) == 4 + 4 * 32768);
  }
  set_num_threads(1);
}

namespace {

void check_sum(const std::vector<int64_t>& sizes, uint64_t mask, Random& random) {
  KernelRef direct, combine;
  set_kernel(direct, sum<float, double>);
  set_kernel(combine, sum<double, double>);
  const Tensor a = random_view(sizes, DType::Float32, random, true);
  std::vector<int64_t> kept(sizes);
  for (size_t i = 0; i < sizes.size(); ++i)
    if (mask >> i & 1) kept[i] = 1;
  const Tensor out = empty(kept, DType::Float64);
  auto out_strides = byte_strides(*out);
  for (size_t i = 0; i < sizes.size(); ++i)
    if (mask >> i & 1) out_strides[i] = 0;
  const auto a_strides = byte_strides(*a);
  const MapOperand operands[] = {{out->host(), DType::Float64, DType::Float64, out_strides.data()},
                                 {a->host(), DType::Float32, DType::Float32, a_strides.data()}};
  CHECK(run_reduce({direct, direct, combine, DType::Float64, false, sizes, mask, operands, {}}) == 0);
  std::vector<double> expected(static_cast<size_t>(out->numel));
  for_each_index(sizes, [&](const std::vector<int64_t>& index) {
    int64_t place = 0;
    for (size_t i = 0; i < index.size(); ++i) place += out_strides[i] / 8 * index[i];
    expected[static_cast<size_t>(place)] += value_of(*a, index);
  });
  for (int64_t i = 0; i < out->numel; ++i) CHECK(out->host_as<double>()[i] == expected[static_cast<size_t>(i)]);
}

}  // namespace

TEST(sum_equals_the_naive_loop_over_any_axes) {
  Random random;
  for (int round = 0; round < 300; ++round) {
    std::vector<int64_t> sizes(static_cast<size_t>(random.below(5)));
    for (int64_t& size : sizes) size = random.below(9);
    check_sum(sizes, static_cast<uint64_t>(random.below(1 << sizes.size())), random);
  }
}

TEST(long_sums_use_blocks_and_a_tree) {
  Random random;
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    check_sum({20000}, 1, random);
    check_sum({9000, 7}, 1, random);
    check_sum({7, 9000}, 2, random);
    check_sum({3, 9000, 5}, 2, random);
    check_sum({5, 3, 9000}, 5, random);
    check_sum({40, 3, 400}, 5, random);
  }
  set_num_threads(1);
}

TEST(argmax_of_blocks_finds_the_first) {
  KernelRef kernel;
  set_kernel(kernel, argmax<float>);
  Random random;
  for (const std::array<int64_t, 2> sizes : {std::array<int64_t, 2>{3, 50}, {4, 12000}, {1, 4097}}) {
    for (const uint64_t mask : {2, 3}) {
      const Tensor a = random_tensor<float>(sizes, DType::Float32, random);
      const int64_t kept[] = {mask == 3 ? 1 : sizes[0]};
      const Tensor values = empty(kept, DType::Float32), indices = empty(kept, DType::Int64);
      const int64_t value_strides[] = {mask == 3 ? 0 : 4, 0}, index_strides[] = {mask == 3 ? 0 : 8, 0};
      const int64_t strides[] = {4 * sizes[1], 4};
      const MapOperand operands[] = {{values->host(), DType::Float32, DType::Float32, value_strides},
                                     {indices->host(), DType::Int64, DType::Int64, index_strides},
                                     {a->host(), DType::Float32, DType::Float32, strides}};
      const uint64_t params[] = {0};
      CHECK(run_reduce({kernel, kernel, kernel, DType::Float32, true, sizes, mask, operands, params}) == 0);
      const int64_t count = mask == 3 ? sizes[0] * sizes[1] : sizes[1];
      for (int64_t row = 0; row < kept[0]; ++row) {
        const float* begin = a->host_as<float>() + row * count;
        CHECK(indices->host_as<int64_t>()[row] == std::max_element(begin, begin + count) - begin);
        CHECK(values->host_as<float>()[row] == *std::max_element(begin, begin + count));
      }
    }
  }
}

TEST(transposed_copies_equal_the_naive_loop) {
  Random random;
  for (int round = 0; round < 60; ++round) {
    const int64_t rows = 1 + random.below(40), columns = 1 + random.below(40);
    const int64_t from_sizes[] = {columns, rows + 3}, to_sizes[] = {rows, columns + 2};
    const Tensor a = random_tensor<float>(from_sizes, DType::Float32, random), b = empty(to_sizes, DType::Float32);
    const Tensor c = random_tensor<double>(from_sizes, DType::Float64, random), d = empty(to_sizes, DType::Float64);
    transpose(b->host(), 4 * b->strides[0], a->host(), 4 * a->strides[0], rows, columns, 4);
    transpose(d->host(), 8 * d->strides[0], c->host(), 8 * c->strides[0], rows, columns, 8);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < columns; ++column) {
        CHECK(b->host_as<float>()[row * b->strides[0] + column] == a->host_as<float>()[column * a->strides[0] + row]);
        CHECK(d->host_as<double>()[row * d->strides[0] + column] == c->host_as<double>()[column * c->strides[0] + row]);
      }
  }
}
