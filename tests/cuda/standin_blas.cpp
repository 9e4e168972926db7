// A stand-in for cuBLASLt: products of the host's memory, queued on the stand-in driver's streams.
//
// It computes float32 and float64 as the real one's documentation says: matrices of columns with leading dimensions,
// transposed factors, strided batches, a bias along the rows of the result.
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr int kInvalidValue = 7, kNotSupported = 15;

struct Description {
  int compute, scale;
  int32_t transpose_a = 0, transpose_b = 0, epilogue = 1;
  uint64_t bias = 0;
};
struct Layout {
  int type;
  uint64_t rows, columns;
  int64_t leading;
  int32_t batches = 1;
  int64_t batch_offset = 0;
};
struct Product {
  Description description;
  Layout a, b, d;
  const void *first, *second;
  void* result;
  double alpha;
};

template <class Number>
void compute(const Product& p) {
  const uint64_t depth = p.description.transpose_a ? p.a.rows : p.a.columns;
  for (int64_t batch = 0; batch < p.d.batches; ++batch) {
    const auto* const a = static_cast<const Number*>(p.first) + batch * p.a.batch_offset;
    const auto* const b = static_cast<const Number*>(p.second) + batch * p.b.batch_offset;
    auto* const d = static_cast<Number*>(p.result) + batch * p.d.batch_offset;
    const auto* const bias = reinterpret_cast<const Number*>(p.description.bias);
    for (uint64_t row = 0; row < p.d.rows; ++row)
      for (uint64_t column = 0; column < p.d.columns; ++column) {
        double total = 0;
        for (uint64_t k = 0; k < depth; ++k) {
          const Number x = p.description.transpose_a ? a[k + row * p.a.leading] : a[row + k * p.a.leading];
          const Number y = p.description.transpose_b ? b[column + k * p.b.leading] : b[k + column * p.b.leading];
          total += static_cast<double>(x) * static_cast<double>(y);
        }
        if (p.description.epilogue == 4) total += bias[row];
        d[row + column * p.d.leading] = static_cast<Number>(p.alpha * total);
      }
  }
}

void run(void* given) {
  const auto* const product = static_cast<Product*>(given);
  product->a.type == 0 ? compute<float>(*product) : compute<double>(*product);
}

template <class Function>
Function of_driver(const char* name) {
  return reinterpret_cast<Function>(dlsym(dlopen(std::getenv("PELLUCID_CUDA_DRIVER"), RTLD_NOW), name));
}

}  // namespace

// Allocates, as the real one does.
EXPORT int cublasLtCreate(void** handle) {
  uint64_t workspace;
  return *handle = std::malloc(1), of_driver<int (*)(uint64_t*, size_t)>("cuMemAlloc_v2")(&workspace, 512);
}
EXPORT int cublasLtMatmulDescCreate(void** made, int compute, int scale) {
  return *made = new Description{compute, scale}, 0;
}
EXPORT int cublasLtMatmulDescSetAttribute(void* made, int attribute, const void* value, size_t nbytes) {
  auto& description = *static_cast<Description*>(made);
  const std::map<int, std::pair<void*, size_t>> known{{3, {&description.transpose_a, 4}},
                                                      {4, {&description.transpose_b, 4}},
                                                      {7, {&description.epilogue, 4}},
                                                      {8, {&description.bias, 8}}};
  const auto found = known.find(attribute);
  if (found == known.end() || found->second.second != nbytes) return kInvalidValue;
  return std::memcpy(found->second.first, value, nbytes), 0;
}
EXPORT int cublasLtMatmulDescDestroy(void* made) { return delete static_cast<Description*>(made), 0; }
EXPORT int cublasLtMatrixLayoutCreate(void** made, int type, uint64_t rows, uint64_t columns, int64_t leading) {
  if (leading < static_cast<int64_t>(rows)) return kInvalidValue;
  return *made = new Layout{type, rows, columns, leading}, 0;
}
EXPORT int cublasLtMatrixLayoutSetAttribute(void* made, int attribute, const void* value, size_t nbytes) {
  auto& layout = *static_cast<Layout*>(made);
  if (attribute == 5 && nbytes == 4) return std::memcpy(&layout.batches, value, 4), 0;
  if (attribute == 6 && nbytes == 8) return std::memcpy(&layout.batch_offset, value, 8), 0;
  return kInvalidValue;
}
EXPORT int cublasLtMatrixLayoutDestroy(void* made) { return delete static_cast<Layout*>(made), 0; }
EXPORT int cublasLtMatmul(void*, void* description, const void* alpha, const void* a, void* a_layout, const void* b,
                          void* b_layout, const void*, const void*, void*, void* d, void* d_layout, const void*, void*,
                          size_t, void* stream) {
  const auto& x = *static_cast<Layout*>(a_layout);
  const auto& y = *static_cast<Layout*>(b_layout);
  const auto& z = *static_cast<Layout*>(d_layout);
  const auto& how = *static_cast<Description*>(description);
  const bool fits = (how.transpose_a ? x.columns : x.rows) == z.rows &&
                    (how.transpose_b ? y.rows : y.columns) == z.columns &&
                    (how.transpose_a ? x.rows : x.columns) == (how.transpose_b ? y.columns : y.rows);
  if (!fits || x.batches != z.batches || y.batches != z.batches) return kInvalidValue;
  const bool is_wide = x.type == 1;
  if (x.type > 1 || how.scale != x.type || how.compute != (is_wide ? 70 : 68)) return kNotSupported;
  const double scale = is_wide ? *static_cast<const double*>(alpha) : *static_cast<const float*>(alpha);
  const auto call = of_driver<int (*)(void*, void (*)(void*), void*)>("cuLaunchHostFunc");
  return call(stream, run, new Product{how, x, y, z, a, b, d, scale});  // for the life of the process: graphs repeat it
}
