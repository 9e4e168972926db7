#include "kernels/nest.h"

#include <algorithm>
#include <cstdlib>

#include "core/allocator.h"
#include "core/error.h"
#include "core/thread_pool.h"
#include "kernels/conversion.h"
#include "kernels/transpose.h"

namespace pellucid {
namespace {

constexpr int64_t kTileElements = 1024;
constexpr size_t kTileBytes = kTileElements * 16;
constexpr int64_t kTransposedColumns = 64;  // width of a transposed tile: source and destination fit the cache
constexpr int64_t kShortRow = 32;           // shorter rows are packed into tiles
constexpr int64_t kShortWideRow = 8;        // likewise, if the kernel takes rows of any strides in vectors
constexpr int64_t kScatteredColumns = 3;    // up to this many columns are scattered rather than visited row by row
constexpr int64_t kShortCall = 256;         // fewer elements are not worth a kernel call

void swap_axes(Axes& axes, int num_operands, int a, int b) {
  std::swap(axes.extents[a], axes.extents[b]);
  for (int k = 0; k < num_operands; ++k) std::swap(axes.stride(k, a), axes.stride(k, b));
}

// Positive: `outer` has the smaller strides and belongs inside `inner`. A broadcast axis (stride 0) does not
// decide; between equal strides the longer axis belongs outside.
int compare_axes(const Axes& axes, int num_operands, int outer, int inner) {
  for (int k = 0; k < num_operands; ++k) {
    const int64_t a = axes.stride(k, outer), b = axes.stride(k, inner);
    if (a == 0 || b == 0) continue;
    if (a != b) return a < b ? 1 : -1;
  }
  return 0;
}

}  // namespace

void order_axes(Axes& axes, int num_operands) {
  for (int i = axes.rank - 2; i >= 0; --i) {
    int moving = i;
    for (int j = i + 1; j < axes.rank; ++j) {
      const int comparison = compare_axes(axes, num_operands, moving, j);
      if (comparison < 0) break;
      if (comparison == 0) continue;
      swap_axes(axes, num_operands, moving, j);
      moving = j;
    }
  }
}

void collapse_axes(Axes& axes, int num_operands) {
  int last = 0;  // the axis that the next one may be merged into
  for (int axis = 1; axis < axes.rank; ++axis) {
    bool one = true;
    for (int k = 0; k < num_operands && one; ++k)
      one = axes.stride(k, last) == axes.stride(k, axis) * axes.extents[axis];
    if (one) {
      axes.extents[last] *= axes.extents[axis];
    } else {
      axes.extents[++last] = axes.extents[axis];
    }
    for (int k = 0; k < num_operands; ++k) axes.stride(k, last) = axes.stride(k, axis);
  }
  axes.rank = axes.rank ? last + 1 : 0;
}

namespace {

// A call whose operands are each dense or a broadcast number: most small calls.
struct OneRun {
  int64_t count = 1;
  int64_t strides[2 * kMaxMapOperands];

  // False if the call is not of this kind, or is long enough to split across threads.
  bool fits(const MapCall& call) {
    const size_t operands = call.operands.size();
    if (operands > kMaxMapOperands) return false;
    for (size_t k = 0; k < operands; ++k) {
      if (call.operands[k].dtype != call.operands[k].kernel_dtype) return false;
      strides[2 * k] = static_cast<int64_t>(item_size(call.operands[k].dtype));
      strides[2 * k + 1] = 0;
    }
    for (size_t axis = call.extents.size(); axis-- > 0;) {
      const int64_t extent = call.extents[axis];
      if (extent == 1) continue;
      for (size_t k = 0; k < operands; ++k) {
        const int64_t stride = call.operands[k].strides[axis];
        if (count == 1 && stride == 0 && k >= static_cast<size_t>(call.num_outputs)) strides[2 * k] = 0;
        if (stride != strides[2 * k] * count) return false;
      }
      if (extent > kParallelGrain) return false;
      count *= extent;
      if (count > kParallelGrain || count == 0) return false;
    }
    return true;
  }

  int64_t run(const MapCall& call) const {
    char* pointers[kMaxMapOperands];
    for (size_t k = 0; k < call.operands.size(); ++k) pointers[k] = call.operands[k].data;
    const int64_t sizes[2] = {count, 1};
    return call.kernel.run(pointers, sizes, strides, call.params);
  }
};

// The `count` elements that end at `last`, in reverse order.
template <class Element>
void copy_reversed(char* to, const char* last, int64_t count) {
  const auto* end = reinterpret_cast<const Element*>(last) + 1;
  std::reverse_copy(end - count, end, reinterpret_cast<Element*>(to));
}

// One map call with prepared axes; shared read-only by all threads.
class MapRun {
 public:
  explicit MapRun(const MapCall& call) : call_(call), num_operands_(static_cast<int>(call.operands.size())) {}

  int64_t run() {
    if (!load_axes()) return 0;
    order_axes(axes_, num_operands_);
    collapse_axes(axes_, num_operands_);
    if (axes_.rank == 0) add_axis();
    if (axes_.rank == 1) add_axis();  // rows of one element
    lengthen_rows();
    choose_staging();
    if (!staged_) lengthen_calls();
    return split();
  }

 private:
  // The tiles for a rectangle of the two innermost axes, at some position of the others.
  struct Scratch {
    char* blocks = nullptr;
    int size_class = 0;
    const char* filled_from[kMaxMapOperands] = {};
    int64_t filled_columns = -1, filled_rows = -1;
    ~Scratch() {
      if (blocks) free_block(blocks, size_class);
    }
  };

  int inner() const { return axes_.rank - 1; }
  int64_t kernel_item(int k) const { return static_cast<int64_t>(item_size(call_.operands[k].kernel_dtype)); }
  bool is_staged(int k) const { return staged_ >> k & 1; }

  // False if there is nothing to do.
  bool load_axes() {
    if (num_operands_ > kMaxMapOperands)
      raise(ErrorKind::Runtime, "a kernel takes at most %d operands; got %d", kMaxMapOperands, num_operands_);
    for (size_t axis = 0; axis < call_.extents.size(); ++axis) {
      const int64_t extent = call_.extents[axis];
      if (extent == 0) return false;
      if (extent == 1) continue;
      for (int k = 0; k < num_operands_; ++k) axes_.stride(k, axes_.rank) = call_.operands[k].strides[axis];
      axes_.extents[axes_.rank++] = extent;
    }
    return true;
  }

  // Inserts an outermost axis of extent 1.
  void add_axis() {
    for (int axis = axes_.rank; axis > 0; --axis) {
      axes_.extents[axis] = axes_.extents[axis - 1];
      for (int k = 0; k < num_operands_; ++k) axes_.stride(k, axis) = axes_.stride(k, axis - 1);
    }
    axes_.extents[0] = 1;
    for (int k = 0; k < num_operands_; ++k) axes_.stride(k, 0) = 0;
    ++axes_.rank;
  }

  bool is_row_dense(int k) const {
    return axes_.stride(k, inner()) == kernel_item(k) &&
           axes_.stride(k, inner() - 1) == kernel_item(k) * axes_.extents[inner()];
  }

  // Whether the kernel vectorises rows of any strides: `_by_vectors` of codegen/schedules/map.py.
  bool takes_vectors() const {
    bool is_wide = true;
    for (int k = 0; k < num_operands_; ++k) is_wide &= kernel_item(k) >= 4;
    return is_wide;
  }

  // Swaps a few columns of many rows into a few long rows: a row of two elements costs as much as one of a
  // vector. Unless there are very few columns, results must have a stride of one or two elements, which kernels
  // store without a scatter.
  void lengthen_rows() {
    const int64_t columns = axes_.extents[inner()], rows = axes_.extents[inner() - 1];
    if (columns >= kShortWideRow || rows < 2 * columns || !takes_vectors()) return;
    const bool may_scatter = columns <= kScatteredColumns && rows * columns < kTileElements;
    for (int k = 0; k < num_operands_; ++k) {
      const int64_t stride = axes_.stride(k, inner() - 1);
      if (stride == 0 || (k < call_.num_outputs && !may_scatter && stride > 2 * kernel_item(k))) return;
    }
    swap_axes(axes_, num_operands_, inner(), inner() - 1);
    is_narrow_ = true;
  }

  // An input of narrow elements in reverse order, which kernels would read one by one.
  bool is_reversed(int k) const {
    const MapOperand& operand = call_.operands[static_cast<size_t>(k)];
    const int64_t item = kernel_item(k);
    return k >= call_.num_outputs && operand.dtype == operand.kernel_dtype && item < 4 &&
           axes_.stride(k, inner()) == -item;
  }

  // An operand goes through a tile if its dtype differs, or if its unit-stride axis is another one (a
  // transposition of enough elements to be worth a copy). An input broadcast along rows is read in place, once
  // per row. With short rows, operands whose rows are not contiguous with each other are staged too.
  void choose_staging() {
    const int64_t rectangle = axes_.extents[inner()] * axes_.extents[inner() - 1];
    const bool short_rows =
        axes_.extents[inner()] < (takes_vectors() ? kShortWideRow : kShortRow) && rectangle >= kTileElements;
    for (int k = 0; k < num_operands_; ++k) {
      const MapOperand& operand = call_.operands[k];
      const int64_t stride = axes_.stride(k, inner()), item = kernel_item(k);
      bool stage = operand.dtype != operand.kernel_dtype;
      const bool is_broadcast = stride == 0 && k >= call_.num_outputs;
      const bool is_transposed =
          stride != item && axes_.stride(k, inner() - 1) == item && axes_.extents[inner() - 1] > 1;
      if (!is_broadcast && is_transposed && !is_narrow_ && rectangle >= kShortCall) { stage = transposes_ = true; }
      if (short_rows && !is_row_dense(k)) stage = true;
      if (is_reversed(k) && rectangle >= kShortCall) stage = true;
      if (stage) staged_ |= uint32_t{1} << k;
    }
  }

  // Chooses the axis whose rows one kernel call walks: few short rows are not worth a call, although the rows of
  // another axis may be far apart.
  void lengthen_calls() {
    const int rows = inner() - 1;
    if (axes_.extents[rows] * axes_.extents[inner()] >= kShortCall) return;
    int longest = rows;
    for (int axis = 0; axis < rows; ++axis)
      if (axes_.extents[axis] > axes_.extents[longest]) longest = axis;
    swap_axes(axes_, num_operands_, rows, longest);
  }

  int64_t split() {
    const int64_t columns = axes_.extents[inner()];
    rows_ = 1;
    for (int axis = 0; axis < inner(); ++axis) rows_ *= axes_.extents[axis];
    if (rows_ * columns <= kParallelGrain) {
      rows_per_block_ = rows_;
      return run_block(0);
    }
    call_.kernel.get();  // resolving may call Python: not from a thread that others wait for
    column_blocks_ = (columns + kParallelGrain - 1) / kParallelGrain;
    const int64_t block_columns = std::min(columns, kParallelGrain);
    rows_per_block_ = std::max<int64_t>(1, kParallelGrain / block_columns);
    const int64_t row_blocks = (rows_ + rows_per_block_ - 1) / rows_per_block_;
    return parallel_blocks(row_blocks * column_blocks_, [this](int64_t block) { return run_block(block); });
  }

  int64_t run_block(int64_t block) {
    const int64_t first_column = block ? block % column_blocks_ * kParallelGrain : 0;
    const int64_t columns = std::min(kParallelGrain, axes_.extents[inner()] - first_column);
    int64_t row = block ? block / column_blocks_ * rows_per_block_ : 0;
    const int64_t last_row = std::min(rows_, row + rows_per_block_);
    Scratch scratch;
    while (row < last_row) {
      char* pointers[kMaxMapOperands];
      const int64_t run = std::min(locate(row, first_column, pointers), last_row - row);
      const int64_t status = staged_ ? run_tiles(pointers, columns, run, scratch) : call_kernel(pointers, columns, run);
      if (status) return status;
      row += run;
    }
    return 0;
  }

  // The addresses of every operand at (row, column); returns the number of rows left along the second axis.
  int64_t locate(int64_t row, int64_t column, char** pointers) const {
    for (int k = 0; k < num_operands_; ++k) pointers[k] = call_.operands[k].data + column * axes_.stride(k, inner());
    if (row == 0) return axes_.extents[inner() - 1];
    int64_t rest = row, left = 0;
    for (int axis = inner() - 1; axis >= 0; --axis) {
      const int64_t index = rest % axes_.extents[axis];
      rest /= axes_.extents[axis];
      if (axis == inner() - 1) left = axes_.extents[axis] - index;
      for (int k = 0; k < num_operands_; ++k) pointers[k] += index * axes_.stride(k, axis);
    }
    return left;
  }

  int64_t call_kernel(char* const* pointers, int64_t columns, int64_t rows) {
    int64_t strides[2 * kMaxMapOperands];
    for (int k = 0; k < num_operands_; ++k) {
      strides[2 * k] = axes_.stride(k, inner());
      strides[2 * k + 1] = axes_.stride(k, inner() - 1);
    }
    const int64_t sizes[2] = {columns, rows};
    return call_.kernel.run(pointers, sizes, strides, call_.params);
  }

  int64_t run_tiles(char* const* pointers, int64_t columns, int64_t rows, Scratch& scratch) {
    const int64_t tile_columns = std::min(columns, transposes_ && rows > 1 ? kTransposedColumns : kTileElements);
    const int64_t tile_rows = std::min(rows, std::max<int64_t>(1, kTileElements / tile_columns));
    reserve(scratch);
    for (int64_t row = 0; row < rows; row += tile_rows)
      for (int64_t column = 0; column < columns; column += tile_columns) {
        char* at[kMaxMapOperands];
        for (int k = 0; k < num_operands_; ++k)
          at[k] = pointers[k] + row * axes_.stride(k, inner() - 1) + column * axes_.stride(k, inner());
        const int64_t status =
            run_tile(at, std::min(tile_columns, columns - column), std::min(tile_rows, rows - row), scratch);
        if (status) return status;
      }
    return 0;
  }

  void reserve(Scratch& scratch) const {
    if (scratch.blocks) return;
    const size_t nbytes = static_cast<size_t>(__builtin_popcount(staged_)) * kTileBytes;
    scratch.size_class = size_class(nbytes);
    scratch.blocks = static_cast<char*>(allocate_block(nbytes, scratch.size_class));
  }

  int64_t run_tile(char* const* at, int64_t columns, int64_t rows, Scratch& scratch) {
    char* pointers[kMaxMapOperands];
    int64_t strides[2 * kMaxMapOperands];
    const bool same_shape = scratch.filled_columns == columns && scratch.filled_rows == rows;
    char* buffer = scratch.blocks;
    bool one_run = true;  // tiles make the rectangle a single row if nothing else has gaps
    for (int k = 0; k < num_operands_; ++k) {
      if (is_staged(k)) {
        pointers[k] = buffer;
        strides[2 * k] = kernel_item(k);
        strides[2 * k + 1] = kernel_item(k) * columns;
        const bool filled = same_shape && scratch.filled_from[k] == at[k];
        if (k >= call_.num_outputs && !filled) fill(k, buffer, at[k], columns, rows);
        scratch.filled_from[k] = is_constant(k) ? at[k] : nullptr;
        buffer += kTileBytes;
      } else {
        pointers[k] = at[k];
        strides[2 * k] = axes_.stride(k, inner());
        strides[2 * k + 1] = axes_.stride(k, inner() - 1);
      }
      one_run &= strides[2 * k + 1] == strides[2 * k] * columns;
    }
    scratch.filled_columns = columns;
    scratch.filled_rows = rows;
    const int64_t sizes[2] = {one_run ? columns * rows : columns, one_run ? 1 : rows};
    const int64_t status = call_.kernel.run(pointers, sizes, strides, call_.params);
    for (int k = 0; k < call_.num_outputs; ++k)
      if (is_staged(k)) drain(k, at[k], pointers[k], columns, rows);
    return status;
  }

  // A tile of a broadcast input may serve several rectangles; an output's tile is never reused for reading.
  bool is_constant(int k) const { return axes_.stride(k, inner() - 1) == 0; }

  // Copies between memory and tile, along the memory's unit-stride axis.
  void fill(int k, char* tile, const char* memory, int64_t columns, int64_t rows) const {
    const MapOperand& operand = call_.operands[static_cast<size_t>(k)];
    const int64_t row_bytes = kernel_item(k) * columns;
    if (is_plain_transposition(k))
      return transpose(tile, row_bytes, memory, axes_.stride(k, inner()), rows, columns, item_size(operand.dtype));
    if (is_reversed(k)) {
      const auto copy = kernel_item(k) == 1 ? copy_reversed<uint8_t> : copy_reversed<uint16_t>;
      for (int64_t row = 0; row < rows; ++row)
        copy(tile + row * row_bytes, memory + row * axes_.stride(k, inner() - 1), columns);
      return;
    }
    const Sides sides = choose_sides(k, columns, rows);
    convert(operand.kernel_dtype, tile, operand.dtype, memory,
            Run{{sides.sizes[0], sides.sizes[1]}, {sides.tile[0], sides.tile[1]}, {sides.memory[0], sides.memory[1]}});
  }
  void drain(int k, char* memory, const char* tile, int64_t columns, int64_t rows) const {
    const MapOperand& operand = call_.operands[static_cast<size_t>(k)];
    const int64_t row_bytes = kernel_item(k) * columns;
    if (is_plain_transposition(k))
      return transpose(memory, axes_.stride(k, inner()), tile, row_bytes, columns, rows, item_size(operand.dtype));
    const Sides sides = choose_sides(k, columns, rows);
    convert(operand.dtype, memory, operand.kernel_dtype, tile,
            Run{{sides.sizes[0], sides.sizes[1]}, {sides.memory[0], sides.memory[1]}, {sides.tile[0], sides.tile[1]}});
  }

  bool is_plain_transposition(int k) const {
    const MapOperand& operand = call_.operands[static_cast<size_t>(k)];
    return operand.dtype == operand.kernel_dtype && can_transpose(item_size(operand.dtype)) &&
           axes_.stride(k, inner() - 1) == kernel_item(k);
  }

  // The rectangle, with the axis first along which memory is dense.
  struct Sides {
    int64_t sizes[2], memory[2], tile[2];
  };
  Sides choose_sides(int k, int64_t columns, int64_t rows) const {
    Sides sides{{columns, rows},
                {axes_.stride(k, inner()), axes_.stride(k, inner() - 1)},
                {kernel_item(k), kernel_item(k) * columns}};
    if (std::abs(sides.memory[1]) < std::abs(sides.memory[0]) && sides.memory[1] != 0)
      for (int64_t* pair : {sides.sizes, sides.memory, sides.tile}) std::swap(pair[0], pair[1]);
    return sides;
  }

  const MapCall& call_;
  const int num_operands_;
  Axes axes_;
  uint32_t staged_ = 0;  // one bit per operand
  bool transposes_ = false;
  bool is_narrow_ = false;  // the axes of rows and columns were swapped
  int64_t rows_ = 1, column_blocks_ = 1, rows_per_block_ = 1;
};

}  // namespace

int64_t run_map(const MapCall& call) {
  OneRun one;
  return one.fits(call) ? one.run(call) : MapRun(call).run();
}

}  // namespace pellucid
