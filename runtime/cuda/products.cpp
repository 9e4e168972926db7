#include "cuda/products.h"

#include <optional>

#include "core/error.h"
#include "cuda/library.h"

namespace pellucid::cuda {

// The names and numbers are those of the library's header.
#define PELLUCID_BLAS_FUNCTIONS(F)                                                                                    \
  F(create, "cublasLtCreate", (Handle * handle))                                                                      \
  F(new_description, "cublasLtMatmulDescCreate", (Handle * made, int compute, int scale))                             \
  F(describe, "cublasLtMatmulDescSetAttribute", (Handle made, int attribute, const void* value, size_t nbytes))       \
  F(drop_description, "cublasLtMatmulDescDestroy", (Handle made))                                                     \
  F(new_layout, "cublasLtMatrixLayoutCreate", (Handle * made, int type, uint64_t rows, uint64_t columns, int64_t ld)) \
  F(lay_out, "cublasLtMatrixLayoutSetAttribute", (Handle made, int attribute, const void* value, size_t nbytes))      \
  F(drop_layout, "cublasLtMatrixLayoutDestroy", (Handle made))                                                        \
  F(multiply, "cublasLtMatmul",                                                                                       \
    (Handle handle, Handle description, const void* alpha, const void* a, Handle a_layout, const void* b,             \
     Handle b_layout, const void* beta, const void* c, Handle c_layout, void* d, Handle d_layout,                     \
     const void* algorithm, void* workspace, size_t nbytes, Handle stream))

struct BlasFunctions {
#define PELLUCID_MEMBER(member, symbol, parameters) int(*member) parameters = nullptr;
  PELLUCID_BLAS_FUNCTIONS(PELLUCID_MEMBER)
#undef PELLUCID_MEMBER
};

namespace {

constexpr int64_t kSmallest = int64_t{1} << 21;  // multiplications below which a launch of the own kernel is as fast
constexpr int kTransposeA = 3, kTransposeB = 4, kEpilogue = 7, kBias = 8;  // cublasLtMatmulDescAttributes_t
constexpr int kBatchCount = 5, kBatchOffset = 6;                           // cublasLtMatrixLayoutAttribute_t
constexpr int kAddBias = 4;                                                // cublasLtEpilogue_t
constexpr int kNotSupported = 15;                                          // cublasStatus_t
constexpr int64_t kAlignment = 16;  // bytes: of what every kernel of the library reads

// cudaDataType_t of the elements, and cublasComputeType_t: float32 is summed as such, not in tf32.
struct Kind {
  int type, compute, scale;
};
std::optional<Kind> kind_of(DType dtype) {
  switch (dtype) {
    case DType::Float32: return Kind{0, 68, 0};
    case DType::Float64: return Kind{1, 70, 1};
    case DType::Float16: return Kind{2, 68, 0};
    case DType::BFloat16: return Kind{14, 68, 0};
    default: return std::nullopt;
  }
}

// A factor, read as columns of memory: `op` is 1 where it is the transposed of what the product takes.
struct Matrix {
  uint64_t address;
  int64_t rows, columns, leading, batch_offset;
  int32_t op;
};

// A matrix with `rows` and `columns` and strides in elements; nullopt unless one of them is 1.
std::optional<Matrix> matrix(uint64_t address, int64_t rows, int64_t columns, int64_t down, int64_t across,
                             int64_t batch) {
  if (down == 1 && across >= rows) return Matrix{address, rows, columns, across, batch, 0};
  if (across == 1 && down >= columns) return Matrix{address, columns, rows, down, batch, 1};
  return std::nullopt;
}

// The axes of a placed product: at most one of batches, the rows, the columns and the sum. One of several axes of rows
// or of columns, along which a factor stays in place, is one of batches.
struct Axes {
  const Launch& launch;
  const GridLaunch& grid;
  int64_t item;

  bool has_batches() const { return grid.stored == 3; }
  int batch() const { return grid.columns == 2 ? 1 : 0; }
  int row() const { return has_batches() ? 1 - batch() : 0; }
  int64_t extent(int axis) const { return grid.extents[axis]; }
  // In elements; the words are described in grid_launch.h.
  int64_t stride(size_t operand, int axis) const {
    const auto axes = static_cast<size_t>(grid.stored + grid.reduced);
    const size_t first = launch.operands.size() + 1 + axes;
    return static_cast<int64_t>(grid.words[first + operand * axes + static_cast<size_t>(axis)]) / item;
  }
  int64_t batch_stride(size_t operand) const { return has_batches() ? stride(operand, batch()) : 0; }
};

void check(int status, const char* function) {
  if (status) raise(ErrorKind::Runtime, "cuBLASLt error: %s returned %d", function, status);
}

}  // namespace

Products::Products(const std::string& library)
    : functions_([&] {
        void* const loaded = open_library("cuBLASLt", library);
        auto functions = std::make_unique<BlasFunctions>();
#define PELLUCID_LOAD(member, symbol, parameters) load_symbol(loaded, library, symbol, functions->member);
        PELLUCID_BLAS_FUNCTIONS(PELLUCID_LOAD)
#undef PELLUCID_LOAD
        return functions;
      }()) {
  if (const int status = functions_->create(&handle_))
    throw UnusableLibrary("cuBLASLt error: cublasLtCreate returned " + std::to_string(status));
}

Products::~Products() = default;

bool Products::run(const Launch& launch, const GridLaunch& grid, Handle stream) {
  const DType dtype = launch.operands[0].dtype;
  const std::optional<Kind> kind = kind_of(dtype);
  for (const LaunchOperand& operand : launch.operands)
    if (operand.dtype != dtype) return false;
  if (!kind || grid.reduced != 1 || grid.stored > 3 || launch.operands.size() > 4) return false;
  const Axes axes{launch, grid, static_cast<int64_t>(item_size(dtype))};
  const int row = axes.row(), column = grid.stored - 1, sum = grid.stored;
  const int64_t rows = axes.extent(row), columns = axes.extent(column), depth = axes.extent(sum);
  const int64_t batches = axes.has_batches() ? axes.extent(axes.batch()) : 1;
  if (rows * columns * depth * batches < kSmallest) return false;
  // The library's matrices are of columns, so it computes the transposed of a result of rows: D' = B' A'.
  if (axes.stride(0, column) != 1 || axes.stride(0, row) < columns) return false;
  const auto first = matrix(launch.operands[2].address, columns, depth, axes.stride(2, column), axes.stride(2, sum),
                            axes.batch_stride(2));
  const auto second =
      matrix(launch.operands[1].address, depth, rows, axes.stride(1, sum), axes.stride(1, row), axes.batch_stride(1));
  if (!first || !second) return false;
  const Matrix result{launch.operands[0].address, columns, rows, axes.stride(0, row), axes.batch_stride(0), 0};
  const bool has_bias = launch.operands.size() == 4;
  if (has_bias && (axes.stride(3, row) != 0 || axes.stride(3, column) != 1 || axes.batch_stride(3) != 0)) return false;

  for (const LaunchOperand& operand : launch.operands)
    if (operand.address % static_cast<uint64_t>(kAlignment)) return false;
  for (const Matrix& m : {*first, *second, result})
    if (m.leading * axes.item % kAlignment || m.batch_offset * axes.item % kAlignment) return false;

  const BlasFunctions& blas = *functions_;
  using Owned = std::unique_ptr<void, int (*)(Handle)>;
  Handle made = nullptr;
  check(blas.new_description(&made, kind->compute, kind->scale), "cublasLtMatmulDescCreate");
  const Owned description(made, blas.drop_description);
  const auto describe = [&](int attribute, const auto& value) {
    check(blas.describe(description.get(), attribute, &value, sizeof value), "cublasLtMatmulDescSetAttribute");
  };
  describe(kTransposeA, first->op);
  describe(kTransposeB, second->op);
  if (has_bias) {
    describe(kEpilogue, int32_t{kAddBias});
    describe(kBias, launch.operands[3].address);
  }
  const auto layout_of = [&](const Matrix& m) {
    Handle layout = nullptr;
    check(blas.new_layout(&layout, kind->type, static_cast<uint64_t>(m.rows), static_cast<uint64_t>(m.columns),
                          m.leading),
          "cublasLtMatrixLayoutCreate");
    Owned owned(layout, blas.drop_layout);
    const auto count = static_cast<int32_t>(batches);
    check(blas.lay_out(layout, kBatchCount, &count, sizeof count), "cublasLtMatrixLayoutSetAttribute");
    check(blas.lay_out(layout, kBatchOffset, &m.batch_offset, sizeof m.batch_offset),
          "cublasLtMatrixLayoutSetAttribute");
    return owned;
  };
  const Owned a = layout_of(*first), b = layout_of(*second), d = layout_of(result);
  const float one = 1, zero = 0;
  const double wide_one = 1, wide_zero = 0;
  const bool is_wide = dtype == DType::Float64;
  const void* const alpha = is_wide ? static_cast<const void*>(&wide_one) : &one;
  const void* const beta = is_wide ? static_cast<const void*>(&wide_zero) : &zero;
  const auto pointer = [](uint64_t address) { return reinterpret_cast<void*>(address); };
  const int status = blas.multiply(handle_, description.get(), alpha, pointer(first->address), a.get(),
                                   pointer(second->address), b.get(), beta, pointer(result.address), d.get(),
                                   pointer(result.address), d.get(), nullptr, nullptr, 0, stream);
  if (status == kNotSupported) return false;
  check(status, "cublasLtMatmul");
  return true;
}

}  // namespace pellucid::cuda
