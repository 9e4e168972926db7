#include "plan/row_driver.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "core/thread_pool.h"

namespace pellucid {

namespace {

// Whether axis `outer` is contiguous with axis `inner` in every operand.
bool continues(const Placement& nest, int outer, int inner) {
  for (int k = 0; k < nest.operands; ++k)
    if (nest.strides[k][outer] != nest.strides[k][inner] * nest.extents[inner]) return false;
  return true;
}

void drop_axis(Placement& nest, int axis) {
  for (int a = axis; a + 1 < nest.axes; ++a) {
    nest.extents[a] = nest.extents[a + 1];
    for (int k = 0; k < nest.operands; ++k) nest.strides[k][a] = nest.strides[k][a + 1];
  }
  --nest.axes;
}

// Collapses neighbouring axes of [begin, end) that are contiguous in all operands; returns how many remain.
int collapse(Placement& nest, int begin, int end) {
  for (int a = end - 1; a >= begin; --a)
    if (nest.extents[a] == 1) {
      drop_axis(nest, a);
      --end;
    }
  for (int a = end - 2; a >= begin; --a) {
    if (!continues(nest, a, a + 1)) continue;
    nest.extents[a + 1] *= nest.extents[a];
    drop_axis(nest, a);
    --end;
  }
  return end - begin;
}

// Orders the independent axes [0, end) so that neighbouring rows are near each other in memory.
void sort_by_strides(Placement& nest, int end) {
  const auto distance = [&](int axis) {
    int64_t sum = 0;
    for (int k = 0; k < nest.operands; ++k) sum += std::abs(nest.strides[k][axis]);
    return sum;
  };
  for (int a = 1; a < end; ++a)
    for (int b = a; b > 0 && distance(b - 1) < distance(b); --b) {
      std::swap(nest.extents[b - 1], nest.extents[b]);
      for (int k = 0; k < nest.operands; ++k) std::swap(nest.strides[k][b - 1], nest.strides[k][b]);
    }
}

struct RowCall {
  KernelRef& kernel;
  const Placement& nest;
  const uint64_t* params;
  int outer_axes;  // walked by an odometer; the next axis is the kernel's outer one
  int64_t inner;
  const RowSums& sums;

  // Runs rows [begin, end) of the kernel's outer axis at point `outer` of the outer axes; they accumulate into
  // the sums of `group`.
  int64_t run(int64_t outer, int64_t begin, int64_t end, int64_t group = 0) const {
    char* data[kMaxNestOperands];
    int64_t strides[2 * kMaxNestOperands];
    const bool has_rows = nest.axes > outer_axes + 1;
    for (int k = 0; k < nest.operands; ++k) {
      const int64_t row_stride = has_rows ? nest.strides[k][outer_axes] : 0;
      data[k] = nest.data[k] + begin * row_stride;
      strides[2 * k] = nest.strides[k][nest.axes - 1];
      strides[2 * k + 1] = row_stride;
      int64_t rest = outer;
      for (int a = outer_axes - 1; a >= 0; --a) {
        data[k] += rest % nest.extents[a] * nest.strides[k][a];
        rest /= nest.extents[a];
      }
    }
    for (size_t k = 0; k < sums.operands.size(); ++k) data[sums.operands[k]] += group * sums.strides[k];
    const int64_t sizes[2] = {inner, end - begin};
    return kernel.run(data, sizes, strides, params);
  }

  // Runs rows [begin, end), counted over all outer axes of `rows` rows.
  int64_t run_group(int64_t group, int64_t begin, int64_t end, int64_t rows) const {
    while (begin < end) {
      const int64_t outer = begin / rows, first = begin % rows, last = std::min(rows, first + end - begin);
      if (const int64_t status = run(outer, first, last, group)) return status;
      begin += last - first;
    }
    return 0;
  }
};

}  // namespace

bool inner_axes_collapse(const Placement& nest, int num_stored) {
  int inner = nest.axes;  // the innermost axis with an extent above 1
  for (int a = nest.axes - 1; a >= num_stored; --a) {
    if (nest.extents[a] == 1) continue;
    if (inner < nest.axes && !continues(nest, a, inner)) return false;
    inner = a;
  }
  return true;
}

int64_t run_rows(KernelRef& kernel, Placement& nest, int num_stored, const uint64_t* params, const RowSums& sums) {
  const int inner_axes = collapse(nest, num_stored, nest.axes);
  if (inner_axes == 0) {  // every inner extent was 1
    nest.extents[nest.axes] = 1;
    for (int k = 0; k < nest.operands; ++k) nest.strides[k][nest.axes] = 0;
    ++nest.axes;
  }
  if (sums.groups == 0) sort_by_strides(nest, nest.axes - 1);
  num_stored = collapse(nest, 0, nest.axes - 1);
  const int outer_axes = std::max(num_stored - 1, 0);
  int64_t outer = 1;
  for (int a = 0; a < outer_axes; ++a) outer *= nest.extents[a];
  const int64_t rows = num_stored ? nest.extents[outer_axes] : 1, inner = nest.extents[nest.axes - 1];
  if (outer == 0 || rows == 0) return 0;
  kernel.get();  // resolving may call Python: not from a thread that others wait for
  const RowCall call{kernel, nest, params, outer_axes, inner, sums};
  if (sums.groups > 0) {  // the groups depend on the number of rows alone
    const int64_t all = outer * rows, size = (all + sums.groups - 1) / sums.groups;
    const auto run_groups = [&](int64_t begin, int64_t end) {
      int64_t status = 0;
      for (int64_t group = begin; group < end && !status; ++group)
        status = call.run_group(group, std::min(group * size, all), std::min((group + 1) * size, all), rows);
      return status;
    };
    if (all * inner < kParallelGrain) return run_groups(0, sums.groups);
    const int64_t together = std::max<int64_t>(1, kParallelGrain / 2 / std::max<int64_t>(size * inner, 1));
    return parallel_blocks((sums.groups + together - 1) / together, [&](int64_t number) {
      return run_groups(number * together, std::min((number + 1) * together, sums.groups));
    });
  }
  if (outer * rows * inner < kParallelGrain) {
    for (int64_t o = 0; o < outer; ++o)
      if (int64_t status = call.run(o, 0, rows)) return status;
    return 0;
  }
  // Blocks depend on the problem size alone, and a row's result does not depend on its block.
  const int64_t block = std::max<int64_t>(1, kParallelGrain / 2 / std::max<int64_t>(inner, 1));
  const int64_t blocks_per_outer = (rows + block - 1) / block;
  return parallel_blocks(outer * blocks_per_outer, [&](int64_t number) {
    const int64_t begin = number % blocks_per_outer * block;
    return call.run(number / blocks_per_outer, begin, std::min(begin + block, rows));
  });
}

}  // namespace pellucid
