#include "plan/tile_evaluation.h"

#include <cstring>

namespace pellucid::tile {

int64_t Evaluation::run(const ScalarProgram& program) {
  values.assign(program.slots.size(), {});
  arena.clear();
  for (size_t k = 0; k < program.slots.size(); ++k)
    if (const int64_t status = compute(program.slots[k], values[k])) return status;
  return 0;
}

int64_t Evaluation::compute(const TileSlot& slot, Elements& out) {
  switch (slot.kind) {
    case TileSlot::Kind::Input: out = inputs[slot.number]; return 0;
    case TileSlot::Kind::Constant: out = {const_cast<char*>(slot.constant), 0}; return 0;
    case TileSlot::Kind::Parameter:
      out = {reinterpret_cast<char*>(const_cast<uint64_t*>(params + slot.number)), 0};
      return 0;
    case TileSlot::Kind::Row: out = {const_cast<char*>(rows[slot.number]), 0}; return 0;
    case TileSlot::Kind::Axis: out = axes[slot.number]; return 0;
    case TileSlot::Kind::Bitcast: out = values[slot.arguments[0]]; return 0;
    case TileSlot::Kind::Op: return call(slot, out);
    case TileSlot::Kind::Gather: return gather(slot, out);
    case TileSlot::Kind::Check: return check(slot, out);
  }
  return 0;
}

Elements Evaluation::fresh(DType dtype) { return {arena.take(count * item(dtype)), item(dtype)}; }

int64_t Evaluation::call(const TileSlot& slot, Elements& out) {
  out = fresh(slot.dtype);
  char* data[4];
  int64_t at[8] = {};
  data[0] = out.data;
  at[0] = out.stride;
  for (size_t k = 0; k < slot.arguments.size(); ++k) {
    const Elements& argument = values[slot.arguments[k]];
    data[k + 1] = argument.data;
    at[2 * (k + 1)] = argument.stride;
  }
  const int64_t extent[2] = {count, 1};
  return slot.kernel.run(data, extent, at, nullptr);
}

int64_t Evaluation::gather(const TileSlot& slot, Elements& out) {
  out = fresh(slot.dtype);
  const int64_t size = item(slot.dtype);
  const int64_t *shape = sizes[slot.number], *steps = strides[slot.number];
  for (int64_t i = 0; i < count; ++i) {
    char* to = out.data + i * size;
    int64_t offset = 0;
    bool inside = true;
    for (size_t d = 0; d < slot.arguments.size(); ++d) {
      const Elements& index = values[slot.arguments[d]];
      int64_t place;
      std::memcpy(&place, index.data + i * index.stride, sizeof place);
      inside &= place >= 0 && place < shape[d];
      offset += place * steps[d];
    }
    if (inside) {
      std::memcpy(to, operands[slot.number] + offset, static_cast<size_t>(size));
    } else if (slot.fill >= 0) {
      const Elements& fill = values[slot.fill];
      std::memcpy(to, fill.data + i * fill.stride, static_cast<size_t>(size));
    } else if (is_needed(slot, i)) {
      return out_of_bounds(first + i);
    } else {
      std::memset(to, 0, static_cast<size_t>(size));
    }
  }
  return 0;
}

int64_t Evaluation::check(const TileSlot& slot, Elements& out) {
  out = values[slot.arguments[0]];
  const Elements& holds = values[slot.arguments[1]];
  for (int64_t i = 0; i < count; ++i)
    if (!holds.data[i * holds.stride] && is_needed(slot, i)) return status_of(KernelStatus::Requirement, slot.number);
  return 0;
}

bool Evaluation::is_needed(const TileSlot& slot, int64_t i) const {
  if (slot.mask < 0) return true;
  const Elements& mask = values[slot.mask];
  return mask.data[i * mask.stride] != 0;
}

}  // namespace pellucid::tile
