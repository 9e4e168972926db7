// What a recipe says about its actions (record/capture.h).
#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>

#include "record/capture.h"

namespace pellucid::record {
namespace {

bool same_bits(const void* a, const void* b, size_t bytes) { return bytes == 0 || std::memcmp(a, b, bytes) == 0; }

bool same_values(const Value& a, const Value& b) {
  if (a.tag != b.tag || a.length != b.length) return false;
  switch (a.tag) {
    case Tag::Tensor:
    case Tag::None: return true;
    case Tag::IntList:
    case Tag::FloatList:
    case Tag::BoolList: return a.broadcast_list == b.broadcast_list && same_bits(a.integers, b.integers, 8 * a.length);
    case Tag::TensorList:
    case Tag::OptionalTensorList:
      return std::equal(a.tensors, a.tensors + a.length, b.tensors,
                        [](const TensorImpl* x, const TensorImpl* y) { return !x == !y; });
    case Tag::String: return std::string_view(a.string, a.length) == std::string_view(b.string, b.length);
    default: return a.integer == b.integer;
  }
}

bool same_actions(const Action& a, const Action& b) {
  return a.kind == b.kind && a.op == b.op && a.operands == b.operands && a.results == b.results &&
         a.numels == b.numels && a.slot == b.slot && a.source == b.source && a.offset == b.offset &&
         a.dtype == b.dtype && a.sizes == b.sizes && a.strides == b.strides && a.pending == b.pending &&
         a.bytes == b.bytes && a.leaf == b.leaf && a.released == b.released &&
         std::equal(a.arguments.data(), a.arguments.data() + a.arguments.size(), b.arguments.data(),
                    b.arguments.data() + b.arguments.size(), same_values);
}

}  // namespace

bool Recipe::same_as(const Recipe& other) const {
  const auto same_origin = [](const SlotOrigin& a, const SlotOrigin& b) {
    return a.kind == b.kind && a.number == b.number;
  };
  return std::ranges::equal(slots, other.slots, same_origin) &&
         std::ranges::equal(actions, other.actions, same_actions);
}

bool Action::has_effects() const {
  return kind == Kind::Gradient || (kind == Kind::Call && (writes || op->kind == OpKind::Random));
}

Action Action::repeated() const {
  Action copy(*this);
  copy.released.clear();
  return copy;
}

bool Recipe::may_fail_halfway() const {
  const auto first = std::ranges::find_if(actions, &Action::has_effects);
  return first != actions.end() &&
         std::any_of(std::next(first), actions.end(), [](const Action& later) { return later.op != nullptr; });
}

void Recipe::find_donated() {
  constexpr size_t kOutlives = SIZE_MAX;
  std::vector<size_t> last(slots.size(), kOutlives), memory_last(slots.size(), 0);
  std::vector<bool> is_given_away(slots.size());
  for (size_t k = 0; k < actions.size(); ++k) {
    for (const Slot slot : actions[k].released) last[slot] = k;
    if (actions[k].kind == Action::Kind::Gradient && actions[k].slot != kNoSlot)
      is_given_away[slots[actions[k].slot].memory] = true;
  }
  for (Slot slot = 0; slot < slots.size(); ++slot) {
    size_t& end = memory_last[slots[slot].memory];
    end = std::max(end, last[slot]);
  }
  for (size_t k = 0; k < actions.size(); ++k) {
    Action& action = actions[k];
    action.donated.clear();
    if (action.kind != Action::Kind::Call) continue;
    for (const Slot slot : action.released) {
      const Slot memory = slots[slot].memory;
      const auto shares = [&](Slot operand) { return slots[operand].memory == memory; };
      const bool is_read_once =
          std::ranges::count(action.operands, slot) == 1 && std::ranges::count_if(action.operands, shares) == 1;
      if (is_read_once && memory_last[memory] == k && slots[memory].kind == SlotOrigin::Kind::Made &&
          !is_given_away[memory])
        action.donated.push_back(slot);
    }
  }
}

}  // namespace pellucid::record
