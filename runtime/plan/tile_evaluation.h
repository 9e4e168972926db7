// The evaluation of scalar programs over tiles of elements: the part of the tile interpreter that all forms share.
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "kernels/conversion.h"
#include "plan/tile_program.h"

namespace pellucid::tile {

constexpr int64_t kTile = 1024;  // elements per tile, unless a form needs more at once

// A run of elements `stride` bytes apart; stride 0: all are the same element.
struct Elements {
  char* data = nullptr;
  int64_t stride = 0;
};

class Arena {
 public:
  char* take(int64_t bytes) { return blocks_.emplace_back(new char[static_cast<size_t>(bytes) + 64]).get(); }
  void clear() { blocks_.clear(); }

 private:
  std::vector<std::unique_ptr<char[]>> blocks_;
};

inline int64_t item(DType dtype) { return static_cast<int64_t>(item_size(dtype)); }

inline void move_elements(DType dtype, Elements to, Elements from, int64_t count) {
  convert(dtype, to.data, dtype, from.data, Run{{count, 1}, {to.stride, 0}, {from.stride, 0}});
}

constexpr int64_t out_of_bounds(int64_t element) { return status_of(KernelStatus::IndexOutOfBounds, element); }

// One evaluation of a scalar program over `count` elements.
class Evaluation {
 public:
  int64_t count = 0;
  int64_t first = 0;                 // flat number of the first point, for statuses
  const Elements* inputs = nullptr;  // operand -> its elements in this tile
  const uint64_t* params = nullptr;
  const char* const* rows = nullptr;  // row results
  const Elements* axes = nullptr;     // nests: int64 indices
  char* const* operands = nullptr;    // nests: whole inputs
  const int64_t* const* sizes = nullptr;
  const int64_t* const* strides = nullptr;

  // Fills `values[slot]` with the elements of every slot. Returns a status.
  int64_t run(const ScalarProgram& program);

  std::vector<Elements> values;
  Arena arena;

 private:
  int64_t compute(const TileSlot& slot, Elements& out);
  Elements fresh(DType dtype);
  int64_t call(const TileSlot& slot, Elements& out);
  int64_t gather(const TileSlot& slot, Elements& out);
  int64_t check(const TileSlot& slot, Elements& out);
  bool is_needed(const TileSlot& slot, int64_t i) const;
};

// A launch of a kernel, with the program that runs in its place.
struct Call {
  const TileProgram& program;
  char* const* data;
  const int64_t* sizes;
  const int64_t* strides;
  const uint64_t* params;

  size_t num_outputs() const { return program.outputs.size(); }
  // Operand k (outputs first) at position (inner, outer).
  Elements operand(size_t k, int64_t inner, int64_t outer) const {
    return {data[k] + inner * strides[2 * k] + outer * strides[2 * k + 1], strides[2 * k]};
  }
  // The inputs, then the outputs, in the numbering of bodies.
  std::vector<Elements> body_operands(int64_t inner, int64_t outer) const {
    std::vector<Elements> out;
    for (size_t k = 0; k < program.inputs.size(); ++k) out.push_back(operand(num_outputs() + k, inner, outer));
    for (size_t k = 0; k < num_outputs(); ++k) out.push_back(operand(k, inner, outer));
    return out;
  }
};

}  // namespace pellucid::tile
