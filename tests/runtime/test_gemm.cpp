#include "products/gemm.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "../sanitizers/check.h"
#include "kernels/axes.h"
#include "kernels/cut.h"

using namespace pellucid;

namespace {

// A plain product that also holds the driver to the kernel's contract.
int64_t product(char* const* data, const int64_t* sizes, const int64_t* strides, const uint64_t* params) {
  CHECK(params[0] != 0 && params[0] % 64 == 0);
  CHECK(sizes[1] == 1 || strides[1] == sizeof(float));
  const auto at = [&](int operand, int64_t row, int64_t column) -> float& {
    char* place = data[operand] + row * strides[2 * operand] + column * strides[2 * operand + 1];
    return *reinterpret_cast<float*>(place);
  };
  for (int64_t i = 0; i < sizes[0]; ++i)
    for (int64_t j = 0; j < sizes[1]; ++j) {
      float sum = data[3] ? at(3, i, j) : 0;
      for (int64_t p = 0; p < sizes[2]; ++p) sum += at(1, i, p) * at(2, p, j);
      at(0, i, j) += sum;  // so that work done twice shows
    }
  return 0;
}

int64_t check_sizes(char* const*, const int64_t* sizes, const int64_t*, const uint64_t*) {
  CHECK(sizes[0] >= 13 && sizes[1] >= 2);
  return 0;
}

void resolve_to(KernelRef& kernel, KernelFunction function) {
  kernel.function = function;
  kernel.resolved = true;
}

constexpr int64_t kItem = sizeof(float);

void check_product(int64_t m, int64_t n, int64_t k, bool transposed_c, bool with_bias) {
  std::vector<float> a(m * k), b(k * n), c(m * n), bias(n);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7);
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 5);
  for (size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(i % 3);
  KernelRef kernel;
  resolve_to(kernel, product);
  const int64_t c_row = transposed_c ? kItem : n * kItem, c_column = transposed_c ? m * kItem : kItem;
  const auto bytes = [](std::vector<float>& values) { return reinterpret_cast<char*>(values.data()); };
  CHECK(run_gemm({kernel,
                  m,
                  n,
                  k,
                  kItem,
                  {bytes(c), bytes(a), bytes(b), with_bias ? bytes(bias) : nullptr},
                  {c_row, c_column, k * kItem, kItem, n * kItem, kItem, 0, kItem}}) == 0);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = with_bias ? bias[j] : 0;
      for (int64_t p = 0; p < k; ++p) sum += a[i * k + p] * b[p * n + j];
      CHECK(c[(i * c_row + j * c_column) / kItem] == sum);
    }
}

}  // namespace

TEST(gemm_computes_every_element_once) {
  for (const bool transposed : {false, true})
    for (const bool with_bias : {false, true}) {
      check_product(3, 4, 5, transposed, with_bias);
      check_product(130, 90, 50, transposed, with_bias);
      check_product(300, 800, 3, transposed, with_bias);
      check_product(1, 1100, 500, transposed, with_bias);
    }
}

TEST(small_products_of_one_shape_follow_their_places) {
  constexpr int64_t m = 3, n = 4, k = 5, count = 6;
  for (const bool transposed : {false, true}) {
    std::vector<float> a(m * k), b(count * k * n), c(count * m * n);
    for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7);
    for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 5);
    KernelRef kernel;
    resolve_to(kernel, product);
    const int64_t c_row = transposed ? kItem : n * kItem, c_column = transposed ? m * kItem : kItem;
    const GemmCall shape{kernel, m, n, k, kItem, {}, {c_row, c_column, k * kItem, kItem, n * kItem, kItem, 0, 0}};
    CHECK(is_small(shape));
    const SmallProducts products(shape);
    const auto bytes = [](float& value) { return reinterpret_cast<char*>(&value); };
    for (int64_t number = 0; number < count; ++number) {
      char* const data[] = {bytes(c[number * m * n]), bytes(a[0]), bytes(b[number * k * n]), nullptr};
      CHECK(products.run(data) == 0);
    }
    for (int64_t number = 0; number < count; ++number)
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          float sum = 0;
          for (int64_t p = 0; p < k; ++p) sum += a[i * k + p] * b[(number * k + p) * n + j];
          CHECK(c[number * m * n + (i * c_row + j * c_column) / kItem] == sum);
        }
  }
}

TEST(cuts_cover_an_extent_in_equal_pieces_of_steps) {
  for (int64_t extent = 1; extent < 300; ++extent)
    for (const int64_t step : {1, 14, 32})
      for (int64_t wanted = 0; wanted < 20; ++wanted) {
        const Cut cut(extent, wanted, step);
        CHECK(cut.count >= 1 && cut.count <= std::max<int64_t>(wanted, 1));
        int64_t reached = 0;
        for (int64_t piece = 0; piece < cut.count; ++piece) {
          CHECK(cut.begin(piece) == reached && reached % step == 0);
          CHECK(cut.size(piece) > 0 && cut.size(piece) <= cut.piece && cut.size(piece) > cut.piece - 2 * step);
          CHECK(piece == 0 || cut.size(piece) <= cut.size(piece - 1));  // the larger ones first
          reached += cut.size(piece);
        }
        CHECK(reached == extent);
      }
}

TEST(a_walk_visits_the_points_of_axes_in_order) {
  const AxisList axes = {{2, {1000, 0, 7, 0}}, {3, {-10, 5, 0, 0}}, {1, {0, 0, 0, 0}}, {4, {1, 1, 1, 0}}};
  char memory[4096];
  char* const data[] = {memory + 100, memory, memory, nullptr};
  for (int64_t first = 0; first < points(axes); ++first) {
    Walk walk(data, axes, first);
    for (int64_t number = first; number < points(axes); ++number, walk.next())
      for (int operand = 0; operand < kProductOperands; ++operand)
        CHECK(walk.data()[operand] == (data[operand] ? data[operand] + place_of(axes, operand, number) : nullptr));
  }
}

TEST(gemm_never_cuts_pieces_that_a_kernel_sums_otherwise) {
  KernelRef kernel;
  resolve_to(kernel, check_sizes);
  char memory[1];
  for (int64_t m = 13; m < 1500; m += 13)
    for (int64_t n = 2; n < 3000; n += 97)
      run_gemm({kernel,
                m,
                n,
                int64_t{1} << 40,
                kItem,
                {memory, memory, memory, nullptr},
                {n * kItem, kItem, 0, 0, 0, 0, 0, 0}});
  for (int64_t m = 13; m < 1500; m += 3)  // of a small B that is read in place
    for (int64_t n = 2; n < 400; n += 14)
      run_gemm({kernel,
                m,
                n,
                96,
                kItem,
                {memory, memory, memory, nullptr},
                {n * kItem, kItem, 96 * kItem, kItem, 0, kItem, 0, 0}});
}
