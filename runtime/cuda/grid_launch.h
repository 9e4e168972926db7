// A launch as the arguments of a grid's kernel (pellucid_compiler/gpu/grid.py): axes of size 1 are dropped, neighbours
// that are contiguous in every operand are merged, and every argument is a word of 64 bits.
#pragma once

#include <cstdint>
#include <vector>

#include "abi/limits.h"
#include "kernels/device_launch.h"

namespace pellucid {

enum class GridForm : uint8_t { Map, Reduce, Rows, Scan, Nest, Gemm, Block };

// What the arguments depend on besides the launch.
struct GridKernel {
  GridForm form = GridForm::Map;
  int num_params = 0;
  uint64_t sums = 0;  // bit k: rows add to output k (RowAdd), which has a first dim of groups
  uint64_t wide = 0;  // Block, bit k: results have columns along class k
};

struct GridLaunch {
  // Axes: with the operands' dtypes what a kernel's text depends on. The last stored ones of a product number its rows,
  // then its columns. Of a block, `reduced` is how many columns its tiles of results have.
  int stored = 0, reduced = 0, rows = 0, columns = 0;
  int guards = 0;            // of a product's factors: how many of the first, and 16 for each of the second
  int64_t points = 1;        // of the stored axes
  bool is_too_deep = false;  // a product's sum has 2**31 points on several axes: no schedule takes it
  int64_t extents[kMaxAxes];
  std::vector<uint64_t> words;  // the kernel's arguments: addresses of operands, `status`, then numbers
};

GridLaunch place_on_grid(const GridKernel& kernel, const Launch& launch, uint64_t status);

}  // namespace pellucid
