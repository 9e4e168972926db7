#include "record/program.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "core/allocator.h"
#include "core/geometry.h"
#include "core/hooks.h"
#include "plan/prepared.h"

namespace pellucid::record {
namespace {

constexpr uint32_t kNever = UINT32_MAX;
constexpr size_t kAlignment = 64;  // as of memory from the allocator
// Results of this size have memory of their own, which is freed before the call ends: the block must not add to the
// peak. An allocation is cheap beside an op over as many bytes.
constexpr size_t kLeastOwnMemory = 4096;

// Memory that an action makes or that exists before the call.
struct Memory {
  uint32_t tensor = kNever;           // whose first element is its start; kNever: it has only a place in the block
  size_t nbytes = 0;                  // if it is made
  const Storage* held = nullptr;      // of a tensor that the program holds
  uint32_t first = kNever, last = 0;  // the instructions that use it
  size_t offset = 0;                  // in the block
  uint32_t num_slots = 0;             // in it, and not released
};

struct Place {
  uint32_t memory = kNever;
  int64_t offset = 0;  // in bytes
};

int64_t bytes_of(DType dtype, int64_t count) { return count * static_cast<int64_t>(item_size(dtype)); }

// Places memory by lifetime: whatever is dead gives its bytes to what comes next. Returns the block's size.
size_t place_in_block(std::vector<Memory>& memories) {
  struct Range {
    size_t begin, end;
  };
  std::vector<Range> free;  // sorted, apart
  std::vector<Memory*> waiting, live;
  for (Memory& memory : memories)
    if (memory.tensor == kNever && memory.first != kNever) waiting.push_back(&memory);
  std::ranges::sort(waiting, {}, &Memory::first);
  const auto later = [](const Memory* a, const Memory* b) { return a->last > b->last; };
  const auto padded = [](size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; };
  const auto release = [&](Range range) {
    auto next = std::ranges::lower_bound(free, range.begin, {}, &Range::begin);
    if (next != free.end() && next->begin == range.end) range.end = next->end, next = free.erase(next);
    if (next != free.begin() && std::prev(next)->end == range.begin) std::prev(next)->end = range.end;
    else free.insert(next, range);
  };
  size_t end = 0;
  for (Memory* memory : waiting) {
    while (!live.empty() && live.front()->last < memory->first) {
      std::ranges::pop_heap(live, later);
      const Memory* dead = live.back();
      live.pop_back();
      release({dead->offset, dead->offset + padded(dead->nbytes)});
    }
    const size_t size = padded(memory->nbytes);
    const auto found = std::ranges::find_if(free, [&](const Range& range) { return range.end - range.begin >= size; });
    if (found == free.end()) {
      memory->offset = end;
      end += size;
    } else {
      memory->offset = found->begin;
      found->begin += size;
      if (found->begin == found->end) free.erase(found);
    }
    live.push_back(memory);
    std::ranges::push_heap(live, later);
  }
  return end;
}

}  // namespace

// Joins the actions of a recipe: finds the memory of every slot and which slots need tensors, then lists instructions.
class Joiner {
 public:
  Joiner(const Recipe& recipe, const std::vector<Tensor>& held)
      : recipe_(recipe), places_(recipe.slots.size()), needs_tensor_(recipe.slots.size()),
        sources_(recipe.slots.size(), kNoSlot), listed_(recipe.actions.size(), kNever) {
    for (Slot slot = 0; slot < recipe.slots.size(); ++slot) {
      const SlotOrigin& origin = recipe.slots[slot];
      if (origin.kind == SlotOrigin::Kind::Made) continue;
      const Storage* storage = origin.kind == SlotOrigin::Kind::Held ? held[origin.number]->storage : nullptr;
      needs_tensor_[slot] = true;
      places_[slot] = add_memory({.tensor = slot, .held = storage});
    }
  }

  std::unique_ptr<Program> join() {
    for (size_t k = 0; k < recipe_.actions.size(); ++k) find_places(k);
    if (program_->lists_.empty()) return nullptr;
    keep_what_outlives();
    for (size_t k = 0; k < recipe_.actions.size(); ++k) list_action(k);
    program_->block_bytes_ = place_in_block(memories_);
    for (size_t k = 0; k < memory_of_.size(); ++k) {
      Program::Pointer& pointer = program_->pointers_[k];
      if (pointer.tensor == Program::kBlock) pointer.offset += static_cast<int64_t>(memories_[memory_of_[k]].offset);
    }
    return std::move(program_);
  }

 private:
  using Instruction = Program::Instruction;
  using Kind = Instruction::Kind;

  uint32_t num_slots() const { return static_cast<uint32_t>(recipe_.slots.size()); }

  Place add_memory(Memory memory) {
    memories_.push_back(memory);
    return {static_cast<uint32_t>(memories_.size() - 1), 0};
  }

  // --------------------------------------------------------------------------------- the places of slots

  void find_places(size_t k) {
    const Action& action = recipe_.actions[k];
    switch (action.kind) {
      case Action::Kind::Call:
        if (find_list(k)) return;
        for (const Slot slot : action.operands) need_tensor(slot);
        for (const Slot slot : action.results) {
          if (slot == kNoSlot) continue;
          places_[slot] = add_memory({});
          need_tensor(slot);
        }
        return;
      case Action::Kind::View:
        sources_[action.slot] = action.source;
        places_[action.slot] = places_[action.source];
        places_[action.slot].offset += bytes_of(action.dtype, action.offset);
        return;
      case Action::Kind::Make: {
        const int64_t extent = bytes_of(action.dtype, extent_of(action.sizes, action.strides));
        places_[action.slot] = add_memory({.nbytes = std::max(static_cast<size_t>(extent), action.bytes.size())});
        return;
      }
      case Action::Kind::Gradient:
        if (action.slot != kNoSlot) need_tensor(action.slot);
    }
  }

  // Its memory needs a tensor, too: this one, unless it is a view.
  void need_tensor(Slot slot) {
    needs_tensor_[slot] = true;
    if (sources_[slot] != kNoSlot) return need_tensor(sources_[slot]);
    Memory& memory = memories_[places_[slot].memory];
    if (memory.tensor != kNever) return;
    memory.tensor = views_.contains(slot) ? num_slots() + static_cast<uint32_t>(program_->num_extra_++) : slot;
  }

  void keep_what_outlives() {
    std::vector<bool> is_released(num_slots());
    for (const Action& action : recipe_.actions)
      for (const Slot slot : action.released) is_released[slot] = true;
    for (Slot slot = 0; slot < num_slots(); ++slot) {
      if (places_[slot].memory == kNever) continue;
      if (!is_released[slot]) need_tensor(slot);
      ++memories_[places_[slot].memory].num_slots;
    }
  }

  // Lists what a prepared op does. False if that is more than launches.
  bool find_list(size_t k) {
    const Action& action = recipe_.actions[k];
    PreparedList list;
    const Prepared* const prepared = action.preparation.prepared.get();
    if (!prepared || !prepared->list(action.operands.size(), list)) return false;
    if (!fits(action, list) || writes_shared(action, list)) return false;
    std::vector<Place> values;
    for (const Slot slot : action.operands) values.push_back(places_[slot]);
    for (const PreparedAction& step : list.actions) {
      if (values.size() <= step.value) values.resize(step.value + size_t{1});
      if (step.kind == PreparedAction::Kind::Make) {
        values[step.value] = add_memory({.nbytes = static_cast<size_t>(bytes_of(step.dtype, step.numel()))});
      } else if (step.kind == PreparedAction::Kind::View) {
        values[step.value] = values[step.source];
        values[step.value].offset += bytes_of(dtype_of(action, list, step.source), step.offset);
      }
    }
    for (size_t r = 0; r < action.results.size(); ++r) {
      const Slot slot = action.results[r];
      if (slot == kNoSlot) continue;
      places_[slot] = values[list.results[r]];
      const PreparedAction& step = *definition(list, list.results[r]);
      if (step.kind == PreparedAction::Kind::View)
        views_.emplace(slot, static_cast<size_t>(&step - list.actions.data()));
      if (memories_[places_[slot].memory].nbytes >= kLeastOwnMemory) need_tensor(slot);
    }
    listed_[k] = static_cast<uint32_t>(program_->lists_.size());
    program_->lists_.push_back(std::move(list));
    values_.push_back(std::move(values));
    return true;
  }

  // The action that makes or views a value; null: it is an operand.
  static const PreparedAction* definition(const PreparedList& list, uint16_t value) {
    const auto found = std::ranges::find_if(list.actions, [&](const PreparedAction& step) {
      const bool defines = step.kind == PreparedAction::Kind::Make || step.kind == PreparedAction::Kind::View;
      return defines && step.value == value;
    });
    return found == list.actions.end() ? nullptr : &*found;
  }
  static bool is_made(const PreparedList& list, uint16_t value) {
    const PreparedAction* step = definition(list, value);
    return step && step->kind == PreparedAction::Kind::Make;
  }

  // Of an operand, or of a value that the list makes.
  DType dtype_of(const Action& action, const PreparedList& list, uint16_t value) const {
    return value < action.operands.size() ? recipe_.slots[action.operands[value]].dtype
                                          : definition(list, value)->dtype;
  }

  // Whether it fills only memory that it makes, views only that and operands, and returns only the former or views of
  // it.
  static bool fits(const Action& action, const PreparedList& list) {
    const auto is_new = [&](uint16_t value) {
      const PreparedAction* step = definition(list, value);
      return step && (step->kind == PreparedAction::Kind::Make || is_made(list, step->source));
    };
    for (size_t r = 0; r < action.results.size(); ++r)
      if (r >= list.results.size() || (action.results[r] != kNoSlot && !is_new(list.results[r]))) return false;
    return std::ranges::all_of(list.actions, [&](const PreparedAction& step) {
      if (step.kind == PreparedAction::Kind::Fill) return is_made(list, step.value);
      return step.kind != PreparedAction::Kind::View || step.source < action.operands.size() ||
             is_made(list, step.source);
    });
  }

  // Whether a written operand shares memory with another one: such ops copy.
  bool writes_shared(const Action& action, const PreparedList& list) const {
    if (list.written.empty()) return false;
    const auto memory_of = [&](Slot slot) -> const void* {
      const Memory& memory = memories_[places_[slot].memory];
      return memory.held ? static_cast<const void*>(memory.held) : &memory;
    };
    std::unordered_map<const void*, Slot> slot_of;  // kNoSlot: several
    for (const Slot slot : action.operands) {
      const auto [entry, fresh] = slot_of.try_emplace(memory_of(slot), slot);
      if (!fresh && entry->second != slot) entry->second = kNoSlot;
    }
    return std::ranges::any_of(
        list.written, [&](uint16_t written) { return slot_of.at(memory_of(action.operands[written])) == kNoSlot; });
  }

  // ------------------------------------------------------------------------------------ the instructions

  void add(const Instruction& instruction) { program_->instructions_.push_back(instruction); }
  uint32_t next_pointer() const { return static_cast<uint32_t>(program_->pointers_.size()); }

  // A pointer of the next instruction.
  void add_pointer(const Place& place, int64_t offset = 0) {
    Memory& memory = memories_[place.memory];
    const auto now = static_cast<uint32_t>(program_->instructions_.size());
    if (memory.first == kNever) memory.first = now;
    memory.last = now;
    memory_of_.push_back(place.memory);
    const uint32_t tensor = memory.tensor == kNever ? Program::kBlock : memory.tensor;
    program_->pointers_.push_back({tensor, place.offset + offset});
  }
  void add_null_pointer() {
    memory_of_.push_back(kNever);
    program_->pointers_.push_back({Program::kNull, 0});
  }

  void list_action(size_t k) {
    const Action& action = recipe_.actions[k];
    const bool is_op = action.kind == Action::Kind::Call || action.kind == Action::Kind::Gradient;
    if (listed_[k] != kNever) {
      list_call(action, program_->lists_[listed_[k]], values_[listed_[k]]);
    } else if (is_op || needs_tensor_[action.slot]) {
      add({.kind = Kind::Perform, .action = &action});
    } else if (action.kind == Action::Kind::Make && !action.bytes.empty()) {
      const uint32_t first = next_pointer();
      add_pointer(places_[action.slot]);
      add({.kind = Kind::Copy, .first = first, .action = &action});
    }
    for (const Slot slot : action.released) release(slot);
  }

  void list_call(const Action& action, const PreparedList& list, const std::vector<Place>& values) {
    const auto each_written = [&](Kind kind) {
      for (const uint16_t value : list.written)
        if (const uint32_t tensor = memories_[values[value].memory].tensor; tensor != kNever)
          add({.kind = kind, .tensor = tensor});
    };
    each_written(Kind::BeforeWrite);
    for (const PreparedAction& step : list.actions) list_step(action, step, values);
    each_written(Kind::Written);
    for (const Slot slot : action.results) {
      if (slot == kNoSlot || !needs_tensor_[slot] || !views_.contains(slot)) continue;
      const PreparedAction& view = list.actions[views_.at(slot)];
      const uint32_t source = memories_[places_[slot].memory].tensor;
      add({.kind = Kind::View, .tensor = slot, .source = source, .prepared = &view});
    }
  }

  void list_step(const Action& action, const PreparedAction& step, const std::vector<Place>& values) {
    const uint32_t first = next_pointer();
    const uint32_t memory = step.kind == PreparedAction::Kind::Launch ? kNever : values[step.value].memory;
    switch (step.kind) {
      case PreparedAction::Kind::View: return;
      case PreparedAction::Kind::Make:
        if (memories_[memory].tensor != kNever)
          add({.kind = Kind::Make, .tensor = memories_[memory].tensor, .prepared = &step});
        return;
      case PreparedAction::Kind::Fill: {
        add_pointer(values[step.value]);
        const auto count = static_cast<int64_t>(memories_[memory].nbytes / item_size(step.dtype));
        return add({.kind = Kind::Fill, .first = first, .count = count, .prepared = &step});
      }
      case PreparedAction::Kind::Launch:
        for (const PreparedPointer& pointer : step.pointers)
          pointer.value == kNullPointer ? add_null_pointer() : add_pointer(values[pointer.value], pointer.offset);
        return add({.kind = Kind::Launch, .first = first, .prepared = &step, .action = &action});
    }
  }

  // The tensor of memory is released with the last slot in it.
  void release(Slot slot) {
    Memory& memory = memories_[places_[slot].memory];
    const bool is_last = --memory.num_slots == 0;
    if (needs_tensor_[slot] && memory.tensor != slot) add({.kind = Kind::Release, .tensor = slot});
    if (is_last && memory.tensor != kNever) add({.kind = Kind::Release, .tensor = memory.tensor});
  }

  const Recipe& recipe_;
  std::unique_ptr<Program> program_ = std::make_unique<Program>();
  std::vector<Place> places_;               // per slot
  std::vector<bool> needs_tensor_;          // per slot
  std::vector<Slot> sources_;               // per slot: the slot of which it is a view
  std::unordered_map<Slot, size_t> views_;  // results that are views of what their op makes: the number of the view
  std::vector<Memory> memories_;
  std::vector<uint32_t> listed_;            // per action: the number of its list
  std::vector<std::vector<Place>> values_;  // per list
  std::vector<uint32_t> memory_of_;         // per pointer
};

std::unique_ptr<Program> Program::join(const Recipe& recipe, const std::vector<Tensor>& held) {
  return Joiner(recipe, held).join();
}

namespace {

class Block {
 public:
  explicit Block(size_t nbytes) : class_(size_class(nbytes)) {
    if (nbytes) start_ = static_cast<char*>(allocate_block(nbytes, class_));
  }
  ~Block() {
    if (start_) free_block(start_, class_);
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  char* start() const { return start_; }

 private:
  const int class_;
  char* start_ = nullptr;
};

}  // namespace

void Program::run(Replay::Run& run) const {
  const Block memory(block_bytes_);
  TensorImpl** const tensors = run.tensors();
  const auto address = [&](uint32_t number) -> char* {
    const Pointer& pointer = pointers_[number];
    if (pointer.tensor == kBlock) return memory.start() + pointer.offset;
    if (pointer.tensor == kNull) return nullptr;  // an address(), since an operation may be pending on the tensor
    return reinterpret_cast<char*>(tensors[pointer.tensor]->address()) + pointer.offset;
  };
  for (const Instruction& step : instructions_) {
    switch (step.kind) {
      case Instruction::Kind::Launch: {
        char* data[kMaxNestOperands];
        const auto count = static_cast<uint32_t>(step.prepared->pointers.size());
        for (uint32_t k = 0; k < count; ++k) data[k] = address(step.first + k);
        if (const int64_t status = launch(*step.prepared, data)) [[unlikely]]
          step.action->preparation.prepared->fail(*step.action->op, *step.prepared, status);
        break;
      }
      case Instruction::Kind::Fill:
        fill_run(address(step.first), step.prepared->element.bytes, item_size(step.prepared->dtype), step.count);
        break;
      case Instruction::Kind::Copy:
        std::memcpy(address(step.first), step.action->bytes.data(), step.action->bytes.size());
        break;
      case Instruction::Kind::BeforeWrite:
        run.note_effect();
        before_write(*tensors[step.tensor]->storage);
        break;
      case Instruction::Kind::Written: tensors[step.tensor]->bump_version(); break;
      case Instruction::Kind::Make: tensors[step.tensor] = made_by(*step.prepared).leak(); break;
      case Instruction::Kind::View:
        tensors[step.tensor] = view_by(*step.prepared, *tensors[step.source], true).leak();
        break;
      case Instruction::Kind::Perform: run.perform(*step.action); break;
      case Instruction::Kind::Release: Tensor::adopt(std::exchange(tensors[step.tensor], nullptr)); break;
    }
  }
}

}  // namespace pellucid::record
