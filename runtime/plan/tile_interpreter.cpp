// Runs tile programs in place of kernels: same arguments, same results, more calls.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/allocator.h"
#include "core/error.h"
#include "kernels/conversion.h"
#include "plan/records.h"
#include "plan/tile_program.h"
#include "threads/fork_safe_mutex.h"

namespace pellucid {

namespace {

constexpr int64_t kTile = 1024;  // elements per tile, unless a form needs more at once

}  // namespace

class ProgramTable {
 public:
  ProgramTable() = default;
  explicit ProgramTable(std::string_view encoded) : own_(encoded) {
    add({reinterpret_cast<const uint8_t*>(own_.data()), own_.size()});
  }

  void add(std::span<const uint8_t> block) {
    std::lock_guard lock(mutex_);
    unread_.push_back(block);
  }

  const TileProgram* find(const KernelId& id) {
    std::lock_guard lock(mutex_);
    for (const auto block : std::exchange(unread_, {})) read(block);
    const auto found = programs_.find(id);
    if (found == programs_.end()) return nullptr;
    if (!found->second.program) {
      found->second.program = std::make_unique<TileProgram>();
      decode_tile_program(Decoder(found->second.encoded), *found->second.program);
    }
    return found->second.program.get();
  }

 private:
  struct Known {
    std::span<const uint8_t> encoded;
    std::unique_ptr<TileProgram> program;
  };

  void read(std::span<const uint8_t> block) {
    Decoder in(block);
    for (size_t count = in.list(); count--;) {
      const auto given = in.record<encoded::Program>();
      programs_[given.kernel].encoded = given.encoded;
    }
  }

  const std::string own_;
  ForkSafeMutex mutex_;
  std::vector<std::span<const uint8_t>> unread_;
  std::map<KernelId, Known> programs_;
};

namespace {

ProgramTable& file_programs() {
  static auto* made = new ProgramTable;
  return *made;
}

constinit thread_local const ProgramScope* program_scope = nullptr;

// What KernelRef::program points to: the kernel's id, the encoded program, and the decoded one after first use.
struct AttachedProgram {
  KernelId id;
  std::shared_ptr<ProgramTable> table;
  std::atomic<const TileProgram*> program{nullptr};

  const TileProgram& get() {
    if (const TileProgram* known = program.load(std::memory_order_acquire)) return *known;
    const TileProgram* found = table ? table->find(id) : nullptr;
    if (!found) found = file_programs().find(id);
    if (!found)
      raise(ErrorKind::Runtime, "a kernel that every pack holds is missing from this one; rebuild the kernel pack");
    program.store(found, std::memory_order_release);
    return *found;
  }
};

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

int64_t item(DType dtype) { return static_cast<int64_t>(item_size(dtype)); }

void move_elements(DType dtype, Elements to, Elements from, int64_t count) {
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
  int64_t run(const ScalarProgram& program) {
    values.assign(program.slots.size(), {});
    arena.clear();
    for (size_t k = 0; k < program.slots.size(); ++k)
      if (const int64_t status = compute(program.slots[k], values[k])) return status;
    return 0;
  }

  std::vector<Elements> values;
  Arena arena;

 private:
  int64_t compute(const TileSlot& slot, Elements& out) {
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

  Elements fresh(DType dtype) { return {arena.take(count * item(dtype)), item(dtype)}; }

  int64_t call(const TileSlot& slot, Elements& out) {
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

  int64_t gather(const TileSlot& slot, Elements& out) {
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

  int64_t check(const TileSlot& slot, Elements& out) {
    out = values[slot.arguments[0]];
    const Elements& holds = values[slot.arguments[1]];
    for (int64_t i = 0; i < count; ++i)
      if (!holds.data[i * holds.stride] && is_needed(slot, i)) return status_of(KernelStatus::Requirement, slot.number);
    return 0;
  }

  bool is_needed(const TileSlot& slot, int64_t i) const {
    if (slot.mask < 0) return true;
    const Elements& mask = values[slot.mask];
    return mask.data[i * mask.stride] != 0;
  }
};

// ---------------------------------------------------------------- forms with two axes

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

int64_t run_map_program(const Call& call) {
  Evaluation evaluation;
  evaluation.params = call.params;
  for (int64_t outer = 0; outer < call.sizes[1]; ++outer)
    for (int64_t inner = 0; inner < call.sizes[0]; inner += kTile) {
      const std::vector<Elements> operands = call.body_operands(inner, outer);
      evaluation.inputs = operands.data();
      evaluation.count = std::min(kTile, call.sizes[0] - inner);
      if (const int64_t status = evaluation.run(call.program.program)) return status;
      for (size_t k = 0; k < call.num_outputs(); ++k)
        move_elements(call.program.outputs[k], call.operand(k, inner, outer),
                      evaluation.values[call.program.program.results[k]], evaluation.count);
    }
  return 0;
}

// Computes all values of one run, then calls the pack's kernel that combines them.
int64_t run_combination(const Call& call) {
  const bool is_scan = call.program.form == TileProgram::Form::Scan;
  const int64_t length = call.sizes[is_scan ? 0 : 1], others = call.sizes[is_scan ? 1 : 0];
  Evaluation evaluation;
  evaluation.params = call.params;
  evaluation.count = length;
  for (int64_t other = 0; other < others; ++other) {
    std::vector<Elements> operands;
    for (size_t k = 0; k < call.program.inputs.size(); ++k) {
      const size_t operand = call.num_outputs() + k;
      const int64_t* own = call.strides + 2 * operand;
      operands.push_back({call.data[operand] + other * own[is_scan ? 1 : 0], own[is_scan ? 0 : 1]});
    }
    evaluation.inputs = operands.data();
    if (const int64_t status = evaluation.run(call.program.program)) return status;
    const Elements& values = evaluation.values[call.program.program.results[0]];
    char* data[3];
    int64_t strides[6] = {};
    for (size_t k = 0; k < call.num_outputs(); ++k) {
      const int64_t* own = call.strides + 2 * k;
      data[k] = call.data[k] + other * own[is_scan ? 1 : 0];
      if (is_scan) strides[2 * k] = own[0];
    }
    data[call.num_outputs()] = values.data;
    strides[2 * call.num_outputs() + (is_scan ? 0 : 1)] = values.stride;
    const int64_t sizes[2] = {is_scan ? length : 1, is_scan ? 1 : length};
    const uint64_t first[1] = {call.program.params.empty() ? 0 : call.params[call.program.params.size() - 1]};
    if (const int64_t status = call.program.whole.run(data, sizes, strides, first)) return status;
  }
  return 0;
}

// ---------------------------------------------------------------- combinations

template <class T>
T combined(Combine combine, T a, T b) {
  const bool a_is_nan = a != a;
  switch (combine) {
    case Combine::Sum: return static_cast<T>(a + b);
    case Combine::Prod: return static_cast<T>(a * b);
    case Combine::Max: return a_is_nan || a > b ? a : b;
    case Combine::Min: return a_is_nan || a < b ? a : b;
    case Combine::And: return static_cast<T>(a != T{} && b != T{});
    case Combine::Or: return static_cast<T>(a != T{} || b != T{});
    case Combine::Assign:
    case Combine::ArgMax:
    case Combine::ArgMin: return b;
  }
  return b;
}

template <class T>
void combine_as(Combine combine, char* to, const char* from) {
  T a, b;
  std::memcpy(&a, to, sizeof a);
  std::memcpy(&b, from, sizeof b);
  const T result = combined(combine, a, b);
  std::memcpy(to, &result, sizeof result);
}

void combine_halves(Combine combine, DType dtype, char* to, const char* from) {
  const Run one{{1, 1}, {0, 0}, {0, 0}};
  float a, b;
  convert(DType::Float32, reinterpret_cast<char*>(&a), dtype, to, one);
  convert(DType::Float32, reinterpret_cast<char*>(&b), dtype, from, one);
  const float result = combined(combine, a, b);
  convert(dtype, to, DType::Float32, reinterpret_cast<const char*>(&result), one);
}

void combine_element(Combine combine, DType dtype, char* to, const char* from) {
  if (combine == Combine::Assign) {
    std::memcpy(to, from, item_size(dtype));
    return;
  }
  switch (dtype) {
    case DType::Bool:
    case DType::UInt8: return combine_as<uint8_t>(combine, to, from);
    case DType::Int8: return combine_as<int8_t>(combine, to, from);
    case DType::Int16: return combine_as<int16_t>(combine, to, from);
    case DType::Int32: return combine_as<int32_t>(combine, to, from);
    case DType::Int64: return combine_as<int64_t>(combine, to, from);
    case DType::Float32: return combine_as<float>(combine, to, from);
    case DType::Float64: return combine_as<double>(combine, to, from);
    case DType::Float16:
    case DType::BFloat16: return combine_halves(combine, dtype, to, from);
    case DType::UInt16: return combine_as<uint16_t>(combine, to, from);
    case DType::UInt32: return combine_as<uint32_t>(combine, to, from);
    case DType::UInt64: return combine_as<uint64_t>(combine, to, from);
    default:
      raise(ErrorKind::NotImplemented, "a tile program cannot combine elements of %s",
            std::string(name(dtype)).c_str());
  }
}

// ---------------------------------------------------------------- rows

class RowsRun {
 public:
  explicit RowsRun(const Call& call) : call_(call) {}

  int64_t run() {
    for (int64_t row = 0; row < call_.sizes[1]; ++row) {
      results_.clear();
      pointers_.clear();
      results_.reserve(call_.program.passes.size());
      for (const RowPass& pass : call_.program.passes)
        if (const int64_t status = run_pass(pass, row)) return status;
    }
    return 0;
  }

 private:
  struct Number {
    alignas(16) char bytes[16];
  };

  int64_t run_pass(const RowPass& pass, int64_t row) {
    const int64_t columns = pass.kind == RowPass::Kind::Store ? 1 : call_.sizes[0];
    std::vector<char> partials;
    for (int64_t column = 0; column < columns || (columns == 0 && partials.empty()); column += kTile) {
      const std::vector<Elements> operands = call_.body_operands(column, row);
      Evaluation evaluation;
      evaluation.params = call_.params;
      evaluation.inputs = operands.data();
      evaluation.rows = pointers_.data();
      evaluation.count = std::min(kTile, columns - column);
      if (const int64_t status = evaluation.run(pass.program)) return status;
      const Elements& values = evaluation.values[pass.program.results[0]];
      if (pass.kind == RowPass::Kind::Reduce) {
        partials.resize(partials.size() + item_size(pass.accumulator));
        char* to = partials.data() + partials.size() - item_size(pass.accumulator);
        if (const int64_t status = reduce(pass.first, to, values, evaluation.count)) return status;
      } else if (pass.kind == RowPass::Kind::Add) {
        add(pass, values, column, row, evaluation.count);
      } else {
        const auto output = static_cast<size_t>(pass.output);
        move_elements(call_.program.outputs[output], call_.operand(output, column, row), values, evaluation.count);
      }
      if (columns == 0) break;
    }
    if (pass.kind != RowPass::Kind::Reduce) return 0;
    Number& number = results_.emplace_back();
    pointers_.push_back(number.bytes);
    const int64_t size = item(pass.accumulator);
    return reduce(pass.again, number.bytes, {partials.data(), size}, static_cast<int64_t>(partials.size()) / size);
  }

  void add(const RowPass& pass, Elements from, int64_t column, int64_t row, int64_t count) const {
    const auto output = static_cast<size_t>(pass.output);
    const Elements to = call_.operand(output, column, row);
    for (int64_t k = 0; k < count; ++k)
      combine_element(Combine::Sum, call_.program.outputs[output], to.data + k * to.stride,
                      from.data + k * from.stride);
  }

  static int64_t reduce(KernelRef& kernel, char* to, Elements from, int64_t count) {
    char* const data[2] = {to, from.data};
    const int64_t sizes[2] = {1, count}, strides[4] = {0, 0, 0, from.stride};
    return kernel.run(data, sizes, strides, nullptr);
  }

  const Call& call_;
  std::vector<Number> results_;
  std::vector<const char*> pointers_;
};

// ---------------------------------------------------------------- nests

template <class T>
bool is_better_as(Combine combine, const char* value, const char* held) {
  T a, b;
  std::memcpy(&a, value, sizeof a);
  std::memcpy(&b, held, sizeof b);
  if (b != b) return false;
  return a != a || (combine == Combine::ArgMax ? a > b : a < b);
}

// Whether a value of a compute dtype replaces the current best: NaN beats numbers, nothing beats NaN.
bool is_better(Combine combine, DType dtype, const char* value, const char* held) {
  switch (dtype) {
    case DType::Bool:
    case DType::UInt8: return is_better_as<uint8_t>(combine, value, held);
    case DType::Int8: return is_better_as<int8_t>(combine, value, held);
    case DType::Int16: return is_better_as<int16_t>(combine, value, held);
    case DType::Int32: return is_better_as<int32_t>(combine, value, held);
    case DType::Int64: return is_better_as<int64_t>(combine, value, held);
    case DType::Float32: return is_better_as<float>(combine, value, held);
    case DType::Float64: return is_better_as<double>(combine, value, held);
    default: break;
  }
  raise(ErrorKind::NotImplemented, "a tile program cannot order elements of this dtype");
}

class NestRun {
 public:
  explicit NestRun(const Call& call) : call_(call), program_(call.program) {
    const auto rank = static_cast<size_t>(std::max(program_.rank, 1));
    begin_ = call.sizes[0];
    extents_.push_back(call.sizes[1] - begin_);
    for (size_t a = 1; a < rank; ++a) extents_.push_back(call.sizes[1 + a]);
    const int64_t *sizes = call.sizes + 1 + rank, *strides = call.strides;
    for (int32_t operand_rank : program_.operand_ranks) {
      sizes_.push_back(sizes);
      strides_.push_back(strides);
      sizes += operand_rank;
      strides += operand_rank;
    }
  }

  int64_t run() {
    int64_t points = 1;
    for (int64_t extent : extents_) points *= extent;
    for (int64_t first = 0; first < points; first += kTile)
      if (const int64_t status = run_tile(first, std::min(kTile, points - first))) return status;
    return 0;
  }

 private:
  int64_t run_tile(int64_t first, int64_t count) {
    const size_t outputs = call_.num_outputs();
    const std::vector<Elements> axes = indices(first, count);
    evaluation_.count = count;
    evaluation_.first = first;
    evaluation_.params = call_.params;
    evaluation_.axes = axes.data();
    evaluation_.operands = call_.data + outputs;
    evaluation_.sizes = sizes_.data() + outputs;
    evaluation_.strides = strides_.data() + outputs;
    std::vector<Elements> scalars;  // inputs of rank 0 are loaded without an index
    for (size_t k = 0; k < program_.inputs.size(); ++k) scalars.push_back({call_.data[outputs + k], 0});
    evaluation_.inputs = scalars.data();
    if (const int64_t status = evaluation_.run(program_.program)) return status;
    for (int64_t i = 0; i < count; ++i)
      if (const int64_t status = store(i)) return status;
    return 0;
  }

  std::vector<Elements> indices(int64_t first, int64_t count) {
    std::vector<Elements> out;
    buffers_.assign(extents_.size(), std::vector<int64_t>(static_cast<size_t>(count)));
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = first + i;
      for (size_t a = extents_.size(); a-- > 0;) {
        buffers_[a][static_cast<size_t>(i)] = rest % extents_[a] + (a == 0 ? begin_ : 0);
        rest /= extents_[a];
      }
    }
    for (auto& buffer : buffers_) out.push_back({reinterpret_cast<char*>(buffer.data()), 8});
    return out;
  }

  int64_t store(int64_t i) {
    size_t result = 0;
    for (const NestStore& target : program_.stores) {
      int64_t offset = 0;
      bool inside = true;
      for (int32_t d = 0; d < target.rank; ++d) {
        const Elements& index = evaluation_.values[program_.program.results[result++]];
        int64_t place;
        std::memcpy(&place, index.data + i * index.stride, sizeof place);
        inside &= place >= 0 && place < sizes_[0][d];
        offset += place * strides_[0][d];
      }
      const int32_t slot = program_.program.results[result++];
      const Elements& value = evaluation_.values[slot];
      const char* from = value.data + i * value.stride;
      if (is_indexed() && inside) {
        if (call_.num_outputs() > 1) store_value(target, i, result - static_cast<size_t>(target.rank) - 1, from);
        store_best(i, call_.data[0] + offset, from, program_.program.slots[slot].dtype);
      } else if (inside) combine_element(program_.combine, program_.outputs[0], call_.data[0] + offset, from);
      else if (!target.drop) return out_of_bounds(evaluation_.first + i);
    }
    return 0;
  }

  bool is_indexed() const { return program_.combine == Combine::ArgMax || program_.combine == Combine::ArgMin; }

  // Stores the best value so far in the second output, at the indices that start with result `first`.
  void store_value(const NestStore& target, int64_t i, size_t first, const char* value) {
    int64_t offset = 0, own = 0;
    for (int32_t d = 0; d < target.rank; ++d) {
      const Elements& index = evaluation_.values[program_.program.results[first + static_cast<size_t>(d)]];
      int64_t place;
      std::memcpy(&place, index.data + i * index.stride, sizeof place);
      own += place * strides_[0][d];
      offset += place * strides_[1][d];
    }
    const bool is_first = call_.data[0] + own != best_for_;
    const Combine better = program_.combine == Combine::ArgMax ? Combine::Max : Combine::Min;
    combine_element(is_first ? Combine::Assign : better, program_.outputs[1], call_.data[1] + offset, value);
  }

  // The points of one element are consecutive: the first one's payload is stored, and that of each better one.
  void store_best(int64_t i, char* place, const char* value, DType dtype) {
    if (place == best_for_ && !is_better(program_.combine, dtype, value, best_)) return;
    best_for_ = place;
    std::memcpy(best_, value, item_size(dtype));
    const Elements& payload = evaluation_.values[program_.program.results.back()];
    std::memcpy(place, payload.data + i * payload.stride, item_size(program_.outputs[0]));
  }

  const Call& call_;
  const TileProgram& program_;
  const char* best_for_ = nullptr;  // argmax: the element that `best_` is the best value of
  char best_[8] = {};
  int64_t begin_;
  std::vector<int64_t> extents_;
  std::vector<const int64_t*> sizes_, strides_;  // per operand, outputs first
  std::vector<std::vector<int64_t>> buffers_;
  Evaluation evaluation_;
};

int64_t run_tile_program(void* attached, char* const* data, const int64_t* sizes, const int64_t* strides,
                         const uint64_t* params) {
  auto& owner = *static_cast<AttachedProgram*>(attached);
  const TileProgram& program = owner.get();
  const Call call{program, data, sizes, strides, params};
  switch (program.form) {
    case TileProgram::Form::Map: return run_map_program(call);
    case TileProgram::Form::Reduce:
    case TileProgram::Form::Scan: return run_combination(call);
    case TileProgram::Form::Rows: return RowsRun(call).run();
    case TileProgram::Form::Nest: return NestRun(call).run();
  }
  return 0;
}

}  // namespace

std::shared_ptr<ProgramTable> make_program_table(std::string_view encoded) {
  return std::make_shared<ProgramTable>(encoded);
}

void add_programs(std::span<const uint8_t> encoded) { file_programs().add(encoded); }

ProgramScope::ProgramScope(std::shared_ptr<ProgramTable> table) : table_(std::move(table)), outer_(program_scope) {
  program_scope = this;
}
ProgramScope::~ProgramScope() { program_scope = outer_; }
std::shared_ptr<ProgramTable> ProgramScope::current() { return program_scope ? program_scope->table_ : nullptr; }

void attach_program(KernelRef& kernel) {
  auto attached = std::make_shared<AttachedProgram>();
  attached->id = kernel.id;
  attached->table = ProgramScope::current();
  kernel.program = std::move(attached);
}

void install_tile_interpreter() { set_program_interpreter(run_tile_program); }

}  // namespace pellucid
