#include "kernels/reduce.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/allocator.h"
#include "core/error.h"
#include "core/thread_pool.h"
#include "kernels/conversion.h"
#include "kernels/cut.h"

namespace pellucid {
namespace {

constexpr int64_t kShortRun = 32;            // a run axis shorter than this is replaced by a longer one
constexpr int64_t kLeastColumns = 64;        // in a chunk of stored axes: column kernels vectorise across it
constexpr int64_t kPanelPartials = 1 << 20;  // partial results held at a time
constexpr size_t kMaxParams = 16;

class Buffer {
 public:
  explicit Buffer(size_t nbytes)
      : class_(size_class(nbytes)), data_(static_cast<char*>(allocate_block(nbytes, class_))) {}
  ~Buffer() { free_block(data_, class_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  char* data() const { return data_; }

 private:
  int class_;
  char* data_;
};

class ReduceRun {
 public:
  explicit ReduceRun(const ReduceCall& call)
      : call_(call), num_operands_(static_cast<int>(call.operands.size())), num_outputs_(call.indexed ? 2 : 1) {}

  int64_t run() {
    if (num_operands_ > kMaxMapOperands || call_.params.size() > kMaxParams)
      raise(ErrorKind::Runtime, "a reduction takes at most %d operands and %zu parameters", kMaxMapOperands,
            kMaxParams);
    if (!load_axes()) return 0;
    choose_axes();
    const int64_t run_extent = reduced_.extents[run_axis_];
    pieces_ = std::max<int64_t>(1, ceil_div(run_extent, kReduceBlock));
    partials_ = pieces_ * other_extents(reduced_, run_axis_);
    return partials_ <= 1 ? reduce_directly() : reduce_by_tree();
  }

 private:
  // A part of the stored elements: a range of positions of the other axes times a range of the kernel's axis.
  struct Panel {
    int64_t first_outer, num_outer, first, count;
  };

  bool load_axes() {
    for (size_t axis = 0; axis < call_.extents.size(); ++axis) {
      const int64_t extent = call_.extents[axis];
      Axes& axes = call_.reduced_axes >> axis & 1 ? reduced_ : stored_;
      if (extent == 0 && &axes == &stored_) return false;
      if (extent == 1) continue;
      append_axis(axes, extent, axis);
    }
    for (int axis = 0; axis < reduced_.rank; ++axis)
      if (reduced_.extents[axis] == 0) make_empty(reduced_);
    return true;
  }

  // Appends an axis of the call, merging it with the last one if they are contiguous.
  void append_axis(Axes& axes, int64_t extent, size_t axis) const {
    bool continues = axes.rank > 0;
    for (int k = 0; k < num_operands_ && continues; ++k)
      continues = axes.stride(k, axes.rank - 1) == call_.operands[k].strides[axis] * extent;
    const int64_t outer = continues ? axes.extents[--axes.rank] : 1;
    for (int k = 0; k < num_operands_; ++k) axes.stride(k, axes.rank) = call_.operands[k].strides[axis];
    axes.extents[axes.rank++] = outer * extent;
  }

  // Collapses all axes into one of extent 0. Reduced over it, the kernel writes the identity; dense strides make
  // it go along rows, where it then loads nothing.
  void make_empty(Axes& axes) const {
    axes.rank = 1;
    axes.extents[0] = 0;
    for (int k = 0; k < num_operands_; ++k)
      axes.stride(k, 0) =
          &axes == &reduced_ && k >= num_outputs_ ? static_cast<int64_t>(item_size(call_.operands[k].dtype)) : 0;
  }

  void choose_axes() {
    order_axes(stored_, num_operands_);
    if (!call_.indexed) order_axes(reduced_, num_operands_);
    for (Axes* axes : {&stored_, &reduced_}) {
      collapse_axes(*axes, num_operands_);
      if (axes->rank == 0) {
        make_empty(*axes);
        axes->extents[0] = 1;
      }
    }
    run_axis_ = reduced_.rank - 1;
    if (!call_.indexed && reduced_.extents[run_axis_] < kShortRun)
      for (int axis = 0; axis < reduced_.rank; ++axis)
        if (reduced_.extents[axis] > reduced_.extents[run_axis_]) run_axis_ = axis;
    stored_axis_ = stored_.rank - 1;
    const auto distance = [&](int axis) { return std::abs(stored_.stride(num_outputs_, axis)); };
    if (num_operands_ > num_outputs_)
      for (int axis = 0; axis < stored_.rank; ++axis)
        if (distance(axis) && (distance(axis) < distance(stored_axis_) || !distance(stored_axis_))) stored_axis_ = axis;
  }

  int64_t other_extents(const Axes& axes, int chosen) const {
    int64_t product = 1;
    for (int axis = 0; axis < axes.rank; ++axis)
      if (axis != chosen) product *= axes.extents[axis];
    return product;
  }

  // Advances `pointers` to position `index` of the axes other than `chosen`.
  void locate(const Axes& axes, int chosen, int64_t index, int first_operand, char** pointers) const {
    for (int axis = axes.rank - 1; axis >= 0; --axis) {
      if (axis == chosen) continue;
      const int64_t position = index % axes.extents[axis];
      index /= axes.extents[axis];
      for (int k = first_operand; k < num_operands_; ++k) pointers[k] += position * axes.stride(k, axis);
    }
  }

  int64_t call_kernel(KernelRef& kernel, char* const* pointers, int64_t count, int64_t reduced, int64_t first_index,
                      const int64_t* output_strides) const {
    int64_t strides[2 * kMaxMapOperands];
    for (int k = 0; k < num_operands_; ++k) {
      strides[2 * k] = k < num_outputs_ ? output_strides[k] : stored_.stride(k, stored_axis_);
      strides[2 * k + 1] = k < num_outputs_ ? 0 : reduced_.stride(k, run_axis_);
    }
    uint64_t params[kMaxParams];
    std::copy(call_.params.begin(), call_.params.end(), params);
    if (call_.indexed) params[call_.params.size() - 1] = static_cast<uint64_t>(first_index);
    const int64_t sizes[2] = {count, reduced};
    return kernel.run(pointers, sizes, strides, params);
  }

  int64_t reduce_directly() const {
    call_.direct.get();  // resolving may call Python: not from a thread that others wait for
    const int64_t extent = stored_.extents[stored_axis_], outer = other_extents(stored_, stored_axis_);
    const int64_t work = std::max<int64_t>(1, reduced_.extents[run_axis_]);
    if (outer == 1 && extent * work <= kParallelGrain) return reduce_at(0, 0, extent);
    const int64_t chunk = std::min(extent, std::max(kLeastColumns, kParallelGrain / work));
    const int64_t outer_chunk = std::max<int64_t>(1, kParallelGrain / (work * chunk));
    const int64_t chunks = ceil_div(extent, chunk);
    return parallel_blocks(chunks * ceil_div(outer, outer_chunk), [&](int64_t block) -> int64_t {
      const int64_t first = block % chunks * chunk, count = std::min(chunk, extent - first);
      const int64_t begin = block / chunks * outer_chunk, end = std::min(outer, begin + outer_chunk);
      for (int64_t position = begin; position < end; ++position)
        if (const int64_t status = reduce_at(position, first, count)) return status;
      return 0;
    });
  }

  int64_t reduce_at(int64_t outer, int64_t first, int64_t count) const {
    char* pointers[kMaxMapOperands];
    for (int k = 0; k < num_operands_; ++k)
      pointers[k] = call_.operands[k].data + first * stored_.stride(k, stored_axis_);
    locate(stored_, stored_axis_, outer, 0, pointers);
    const int64_t output_strides[2] = {stored_.stride(0, stored_axis_), stored_.stride(1, stored_axis_)};
    return call_kernel(call_.direct, pointers, count, reduced_.extents[run_axis_], 0, output_strides);
  }

  size_t partial_item(int output) const { return output == 0 ? item_size(call_.accumulator) : sizeof(int64_t); }

  int64_t reduce_by_tree() const {
    if (&call_.partial == &call_.direct && call_.operands[0].dtype != call_.accumulator)
      raise(ErrorKind::Runtime, "a long reduction accumulates in %s but its kernel for parts writes %s",
            std::string(name(call_.accumulator)).c_str(), std::string(name(call_.operands[0].dtype)).c_str());
    call_.partial.get();
    call_.combine.get();
    const int64_t extent = stored_.extents[stored_axis_], outer = other_extents(stored_, stored_axis_);
    const int64_t width = std::max<int64_t>(1, kPanelPartials / partials_);
    const int64_t count = std::min(extent, width), num_outer = std::min(outer, std::max<int64_t>(1, width / extent));
    Buffer values(static_cast<size_t>(partials_ * count * num_outer) * partial_item(0));
    Buffer spare(static_cast<size_t>(partials_ * count * num_outer) * partial_item(0));
    Buffer indices(call_.indexed ? static_cast<size_t>(partials_ * count * num_outer) * sizeof(int64_t) : 1);
    for (int64_t first_outer = 0; first_outer < outer; first_outer += num_outer)
      for (int64_t first = 0; first < extent; first += count) {
        const Panel panel{first_outer, std::min(num_outer, outer - first_outer), first,
                          std::min(count, extent - first)};
        const int64_t status = reduce_panel(panel, values.data(), spare.data(), indices.data());
        if (status) return status;
      }
    return 0;
  }

  int64_t reduce_panel(const Panel& panel, char* values, char* spare, char* indices) const {
    const int64_t width = panel.num_outer * panel.count;
    const int64_t tasks = partials_ * panel.num_outer;
    const int64_t work = std::min(kReduceBlock, reduced_.extents[run_axis_]) * panel.count;
    const int64_t tasks_per_block = std::max<int64_t>(1, kParallelGrain / work);
    const int64_t status = parallel_blocks(ceil_div(tasks, tasks_per_block), [&](int64_t block) -> int64_t {
      const int64_t end = std::min(tasks, (block + 1) * tasks_per_block);
      for (int64_t task = block * tasks_per_block; task < end; ++task)
        if (const int64_t failed = reduce_part(panel, task, values, indices)) return failed;
      return 0;
    });
    if (status) return status;
    return call_.indexed ? finish_indexed(panel, values, indices, spare) : finish(panel, width, values, spare);
  }

  // Computes partial result `task % partials_` of one outer position, over the panel's range of the stored axis.
  int64_t reduce_part(const Panel& panel, int64_t task, char* values, char* indices) const {
    const int64_t partial = task % partials_, outer = task / partials_;
    const int64_t piece = partial % pieces_ * kReduceBlock;
    const int64_t reduced = std::min(kReduceBlock, reduced_.extents[run_axis_] - piece);
    const int64_t place = partial * panel.num_outer * panel.count + outer * panel.count;
    char* pointers[kMaxMapOperands];
    pointers[0] = values + place * static_cast<int64_t>(partial_item(0));
    if (call_.indexed) pointers[1] = indices + place * static_cast<int64_t>(sizeof(int64_t));
    for (int k = num_outputs_; k < num_operands_; ++k)
      pointers[k] = call_.operands[k].data + panel.first * stored_.stride(k, stored_axis_) +
                    piece * reduced_.stride(k, run_axis_);
    locate(stored_, stored_axis_, panel.first_outer + outer, num_outputs_, pointers);
    locate(reduced_, run_axis_, partial / pieces_, num_outputs_, pointers);
    const int64_t strides[2] = {static_cast<int64_t>(partial_item(0)), static_cast<int64_t>(sizeof(int64_t))};
    const int64_t first_index = partial / pieces_ * reduced_.extents[run_axis_] + piece;
    return call_kernel(call_.partial, pointers, panel.count, reduced, first_index, strides);
  }

  // Combines neighbours, level by level; an odd last one moves up unchanged.
  int64_t finish(const Panel& panel, int64_t width, char* values, char* spare) const {
    const int64_t item = static_cast<int64_t>(partial_item(0));
    const int64_t row = width * item;
    for (int64_t left = partials_; left > 1; left = (left + 1) / 2) {
      const int64_t pairs = left / 2;
      int64_t status = 0;
      if (width == 1) {
        status = combine(spare, values, pairs, item, 2 * item, item);
      } else {
        const int64_t pairs_per_block = std::max<int64_t>(1, kParallelGrain / width);
        status = parallel_blocks(ceil_div(pairs, pairs_per_block), [&](int64_t block) -> int64_t {
          const int64_t end = std::min(pairs, (block + 1) * pairs_per_block);
          for (int64_t pair = block * pairs_per_block; pair < end; ++pair)
            if (const int64_t failed = combine(spare + pair * row, values + 2 * pair * row, width, item, item, row))
              return failed;
          return 0;
        });
      }
      if (status) return status;
      if (left & 1) std::copy_n(values + (left - 1) * row, row, spare + pairs * row);
      std::swap(values, spare);
    }
    write_output(panel, 0, call_.accumulator, values);
    return 0;
  }

  int64_t combine(char* to, char* from, int64_t count, int64_t to_stride, int64_t from_stride,
                  int64_t pair_stride) const {
    char* const pointers[2] = {to, from};
    const int64_t sizes[2] = {count, 2}, strides[4] = {to_stride, 0, from_stride, pair_stride};
    return call_.combine.run(pointers, sizes, strides, call_.params.data());
  }

  // The best partial value determines which partial's index counts; among equal ones the first.
  int64_t finish_indexed(const Panel& panel, char* values, char* indices, char* spare) const {
    const int64_t width = panel.num_outer * panel.count, item = static_cast<int64_t>(partial_item(0));
    std::vector<int64_t> place(static_cast<size_t>(width));
    int64_t left = partials_;
    while (left > 1) {
      const int64_t groups = ceil_div(left, kReduceBlock);
      for (int64_t group = 0; group < groups; ++group) {
        const int64_t first = group * kReduceBlock, count = std::min(kReduceBlock, left - first);
        char* const pointers[3] = {spare, reinterpret_cast<char*>(place.data()), values + first * width * item};
        const int64_t sizes[2] = {width, count}, strides[6] = {item, 0, 8, 0, item, width * item};
        uint64_t params[kMaxParams] = {};
        params[0] = static_cast<uint64_t>(first);
        if (const int64_t status = call_.combine.run(pointers, sizes, strides, params)) return status;
        auto* known = reinterpret_cast<int64_t*>(indices);
        for (int64_t i = 0; i < width; ++i) known[group * width + i] = known[place[static_cast<size_t>(i)] * width + i];
        std::copy_n(spare, width * item, values + group * width * item);
      }
      left = groups;
    }
    write_output(panel, 0, call_.accumulator, values);
    write_output(panel, 1, DType::Int64, indices);
    return 0;
  }

  void write_output(const Panel& panel, int output, DType dtype, const char* results) const {
    const MapOperand& operand = call_.operands[static_cast<size_t>(output)];
    const int64_t item = static_cast<int64_t>(item_size(dtype)), stride = stored_.stride(output, stored_axis_);
    for (int64_t outer = 0; outer < panel.num_outer; ++outer) {
      char* pointers[kMaxMapOperands] = {};
      pointers[output] = operand.data + panel.first * stride;
      for (int k = 0; k < num_operands_; ++k)
        if (k != output) pointers[k] = operand.data;
      locate(stored_, stored_axis_, panel.first_outer + outer, 0, pointers);
      convert(operand.dtype, pointers[output], dtype, results + outer * panel.count * item,
              Run{{panel.count, 1}, {stride, 0}, {item, 0}});
    }
  }

  const ReduceCall& call_;
  const int num_operands_, num_outputs_;
  Axes stored_, reduced_;
  int run_axis_ = 0, stored_axis_ = 0;
  int64_t pieces_ = 1, partials_ = 1;
};

}  // namespace

int64_t run_reduce(const ReduceCall& call) { return ReduceRun(call).run(); }

}  // namespace pellucid
