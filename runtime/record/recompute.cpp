#include "record/recompute.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>

namespace pellucid::record {
namespace {

constexpr size_t kNever = SIZE_MAX;
constexpr int64_t kLeastBytes = 64 * 1024;  // of a result that is worth an action
constexpr uint32_t kMostResults = 512;      // finding each takes time
constexpr size_t kMostActions = 3;  // that compute one result again: its op, and those of operands that are gone

// A slot's lifetime, in actions.
struct Life {
  std::vector<size_t> readers, writers;  // `writers` of its memory
  size_t made = kNever, last = kNever;   // `last`: that releases it; kNever if it outlives the call
  size_t memory_last = 0;                // the same of its memory
  int64_t bytes = 0;                     // if it has memory of its own that the call makes
  bool is_plain = true;                  // neither viewed, written nor given away
  bool reuses = false;                   // whether it is made in the memory of an operand that dies then

  // Forgets everything, and keeps the memory of the lists.
  void clear() {
    readers.clear(), writers.clear();
    *this = {.readers = std::move(readers), .writers = std::move(writers)};
  }
};

// A result that could be computed again: released after `released`, computed before `again` by repeating `actions`.
struct Candidate {
  Slot slot;
  size_t released, again;
  std::vector<size_t> actions;  // in order; the last one makes it
  int64_t bytes, nanoseconds;
};

// Whether the op computes its results from its operands alone.
bool is_repeatable(const Action& action) {
  switch (action.op->kind) {
    case OpKind::Pointwise:
    case OpKind::Reduction:
    case OpKind::Scan:
    case OpKind::Fused:
    case OpKind::Contraction:
    case OpKind::Join: return action.written.empty();
    default: return false;
  }
}

class Recomputation {
 public:
  Recomputation(Recipe& recipe, const MemoryBudget& budget) : recipe_(recipe), budget_(budget) {}

  Recomputed run() {
    find_lives();
    Recomputed done{0, peak().first, 0};
    int64_t total = 0, spent = 0;
    for (const Action& action : recipe_.actions) total += action.nanoseconds;
    const auto goal = static_cast<int64_t>(budget_.bytes * static_cast<double>(done.bytes_before));
    const auto cheap_goal = static_cast<int64_t>(budget_.cheap_bytes * static_cast<double>(done.bytes_before));
    const auto allowed = static_cast<int64_t>(budget_.time * static_cast<double>(total));
    for (;;) {
      const auto [bytes, position] = peak();
      done.bytes = bytes;
      const bool has_goal = budget_.bytes < 1 && bytes > goal;
      if (!has_goal && bytes <= cheap_goal) return done;
      const int64_t most = has_goal ? INT64_MAX : allowed - spent;
      const std::optional<Candidate> chosen = best_at(position, most);
      if (!chosen || done.results == kMostResults) return done;
      apply(*chosen);
      spent += chosen->nanoseconds;
      ++done.results;
      find_lives();
    }
  }

 private:
  Slot memory_of(Slot slot) const { return recipe_.slots[slot].memory; }

  void find_lives() {
    for (Life& life : lives_) life.clear();
    lives_.resize(recipe_.slots.size());
    for (size_t k = 0; k < recipe_.actions.size(); ++k) add_action(k, recipe_.actions[k]);
    for (Slot slot = 0; slot < lives_.size(); ++slot) {  // memory lives as long as its last view
      Life& memory = lives_[memory_of(slot)];
      memory.memory_last = std::max(memory.memory_last, lives_[slot].last);
    }
    recipe_.find_donated();
    for (const Action& action : recipe_.actions) find_reuse(action);
  }

  // Results in the memory of donated operands.
  void find_reuse(const Action& action) {
    for (const Slot slot : action.reusable) {
      const Life& life = lives_[slot];
      if (!life.bytes || std::ranges::count(action.donated, slot) == 0) continue;
      for (const Slot made : action.results)
        if (made != kNoSlot && lives_[made].bytes == life.bytes && !lives_[made].reuses) {
          lives_[made].reuses = true;
          break;
        }
    }
  }

  void add_action(size_t k, const Action& action) {
    for (const Slot slot : action.operands) lives_[slot].readers.push_back(k);
    switch (action.kind) {
      case Action::Kind::Call: {
        for (size_t r = 0; r < action.results.size(); ++r)
          if (const Slot slot = action.results[r]; slot != kNoSlot) make(slot, k, action.numels[r]);
        for (const Slot slot : action.written) {
          Life& memory = lives_[memory_of(slot)];
          memory.writers.push_back(k);
          memory.is_plain = false;
        }
        break;
      }
      case Action::Kind::View: lives_[action.source].is_plain = lives_[action.slot].is_plain = false; break;
      case Action::Kind::Make: {
        int64_t count = 1;
        for (const int64_t size : action.sizes) count *= size;
        make(action.slot, k, count);
        lives_[action.slot].is_plain = false;
        break;
      }
      case Action::Kind::Gradient:
        if (action.slot != kNoSlot) lives_[action.slot].is_plain = false;
    }
    for (const Slot slot : action.released) lives_[slot].last = k;
  }

  void make(Slot slot, size_t k, int64_t count) {
    lives_[slot].made = k;
    lives_[slot].bytes = count * static_cast<int64_t>(item_size(recipe_.slots[slot].dtype));
  }

  // The most bytes that the call has made and not released, and after which action.
  std::pair<int64_t, size_t> peak() {
    change_.assign(recipe_.actions.size() + 1, 0);
    for (const Life& life : lives_) {
      if (!life.bytes) continue;
      change_[life.made + (life.reuses ? 1 : 0)] += life.bytes;
      if (life.memory_last != kNever) change_[life.memory_last + 1] -= life.bytes;
    }
    int64_t now = 0, most = 0;
    size_t position = 0;
    for (size_t k = 0; k < recipe_.actions.size(); ++k) {
      now += change_[k];
      if (now > most) most = now, position = k;
    }
    return {most, position};
  }

  // The result that frees most bytes at `position` for its time, which is at most `most` nanoseconds.
  std::optional<Candidate> best_at(size_t position, int64_t most) const {
    std::optional<Candidate> best;
    for (Slot slot = 0; slot < lives_.size(); ++slot) {
      const std::optional<Candidate> found = candidate(slot, position);
      if (!found || found->nanoseconds > most) continue;
      const auto is_better = [](const Candidate& a, const Candidate& b) {
        return static_cast<double>(a.bytes) * static_cast<double>(b.nanoseconds + 1) >
               static_cast<double>(b.bytes) * static_cast<double>(a.nanoseconds + 1);
      };
      if (!best || is_better(*found, *best)) best = *found;
    }
    return best;
  }

  std::optional<Candidate> candidate(Slot slot, size_t position) const {
    const Life& life = lives_[slot];
    const bool is_stored_then = life.is_plain && life.bytes >= kLeastBytes && life.made < position &&
                                life.last != kNever && life.last > position;
    if (!is_stored_then) return std::nullopt;
    const auto late = std::ranges::upper_bound(life.readers, position);
    if (late == life.readers.begin() || late == life.readers.end()) return std::nullopt;
    Candidate found{slot, *std::prev(late), *late, {}, life.bytes, 0};
    if (found.released >= position || !repeat(life.made, found, 0)) return std::nullopt;
    for (const size_t k : found.actions) found.nanoseconds += recipe_.actions[k].nanoseconds;
    return found;
  }

  // Appends the action at `made` to those of the candidate, after the actions that make its operands again where these
  // are not stored. False: it cannot be repeated. `depth`: of the operand that it makes.
  bool repeat(size_t made, Candidate& found, size_t depth) const {
    if (depth == kMostActions) return false;  // its chain of operands may be as long as the program
    const Action& action = recipe_.actions[made];
    if (action.kind != Action::Kind::Call || !is_repeatable(action)) return false;
    for (const Slot slot : action.operands) {
      if (is_changed(slot, made, found.again)) return false;
      if (is_stored(slot, found.again)) continue;
      const Life& life = lives_[slot];
      if (!life.is_plain || life.made == kNever) return false;
      const bool is_repeated = std::ranges::count(found.actions, life.made) != 0 || repeat(life.made, found, depth + 1);
      if (!is_repeated) return false;
    }
    found.actions.push_back(made);
    return found.actions.size() <= kMostActions;
  }

  bool is_changed(Slot slot, size_t made, size_t again) const {
    return recipe_.slots[slot].kind == SlotOrigin::Kind::Gradient ||
           std::ranges::any_of(lives_[memory_of(slot)].writers,
                               [&](size_t write) { return write >= made && write < again; });
  }

  bool is_stored(Slot slot, size_t again) const {
    return recipe_.slots[slot].kind != SlotOrigin::Kind::Made || lives_[slot].last >= again;
  }

  Slot add_copy(Slot slot) {
    const auto copy = static_cast<Slot>(recipe_.slots.size());
    recipe_.slots.push_back(recipe_.slots[slot]);
    recipe_.slots.back().memory = copy;
    return copy;
  }

  static void rename(Action& action, Slot from, Slot to) {
    for (std::vector<Slot>* slots : {&action.operands, &action.reusable, &action.released})
      std::ranges::replace(*slots, from, to);
  }

  void apply(const Candidate& chosen) {
    std::vector<Action>& actions = recipe_.actions;
    std::vector<Action> repeated;
    for (const size_t k : chosen.actions) repeated.push_back(actions[k].repeated());
    for (size_t r = 0; r < repeated.size(); ++r)
      for (Slot& result : repeated[r].results) {
        if (result != kNoSlot) result = again_of(chosen, result, std::span(repeated).subspan(r + 1));
      }
    const Slot again =
        repeated.back()
            .results[static_cast<size_t>(std::ranges::find(actions[chosen.actions.back()].results, chosen.slot) -
                                         actions[chosen.actions.back()].results.begin())];
    for (size_t k = chosen.again; k < actions.size(); ++k) rename(actions[k], chosen.slot, again);
    actions[chosen.released].released.push_back(chosen.slot);
    actions.insert(actions.begin() + static_cast<std::ptrdiff_t>(chosen.again),
                   std::make_move_iterator(repeated.begin()), std::make_move_iterator(repeated.end()));
  }

  // The slot in which repeated actions make the result `slot` again: that of the candidate, or that of an operand of
  // the `later` ones, which releases it. kNoSlot: it is stored, or nobody reads it again.
  Slot again_of(const Candidate& chosen, Slot slot, std::span<Action> later) {
    if (slot == chosen.slot) return add_copy(slot);
    if (is_stored(slot, chosen.again)) return kNoSlot;
    Action* last = nullptr;
    for (Action& action : later)
      if (std::ranges::count(action.operands, slot)) last = &action;
    if (!last) return kNoSlot;
    const Slot again = add_copy(slot);
    for (Action& action : later) rename(action, slot, again);
    last->released.push_back(again);
    return again;
  }

  Recipe& recipe_;
  const MemoryBudget& budget_;
  std::vector<Life> lives_;      // per slot
  std::vector<int64_t> change_;  // of the bytes, before each action
};

}  // namespace

Recomputed recompute(Recipe& recipe, const MemoryBudget& budget) { return Recomputation(recipe, budget).run(); }

}  // namespace pellucid::record
