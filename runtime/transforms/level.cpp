#include "transforms/level.h"

#include <algorithm>
#include <atomic>

#include "core/error.h"

namespace pellucid {
namespace {

struct LevelStack {
  std::vector<Level> levels;
  size_t active = 0;  // levels from here on are set aside
};

LevelStack& stack() {
  thread_local LevelStack levels;
  return levels;
}

// Inside a level every op passes through the transforms: a random op depends on a batch level without having one
// of its tensors, and a plain view on what its base has become.
void set_active(LevelStack& all, size_t active) {
  all.active = active;
  const KeySet others = thread_state.include - KeySet(Key::Transforms);
  thread_state.include = active ? others | Key::Transforms : others;
}

}  // namespace

uint64_t enter_level(LevelKind kind, int64_t size, Randomness randomness) {
  static std::atomic<uint64_t> last{0};
  LevelStack& all = stack();
  if (all.active != all.levels.size())
    raise(ErrorKind::Runtime, "a function transform cannot be entered inside the kernel of an op");
  all.levels.push_back({++last, kind, size, randomness});
  set_active(all, all.levels.size());
  return all.levels.back().number;
}

void leave_level(uint64_t number) {
  LevelStack& all = stack();
  if (all.levels.empty() || all.levels.back().number != number)
    raise(ErrorKind::Runtime, "function transforms must be left in the reverse order of entering them");
  all.levels.pop_back();
  set_active(all, all.levels.size());
}

const Level* find_level(uint64_t number) {
  for (const Level& level : stack().levels)
    if (level.number == number) return &level;
  return nullptr;
}

const Level* innermost_batch_level() {
  const LevelStack& all = stack();
  for (size_t i = all.active; i-- > 0;)
    if (all.levels[i].kind == LevelKind::Batch) return &all.levels[i];
  return nullptr;
}

std::vector<Level> active_levels() {
  const LevelStack& all = stack();
  return {all.levels.begin(), all.levels.begin() + static_cast<std::ptrdiff_t>(all.active)};
}

bool& forward_mode_enabled() {
  thread_local bool enabled = true;
  return enabled;
}

int& transformed_calls() {
  thread_local int calls = 0;
  return calls;
}

void refuse_in_transforms(const char* call) {
  if (!transformed_calls()) return;
  raise(ErrorKind::Runtime,
        "%s() was called inside a function that a transform runs (torch.func.grad, vmap, ...). Transforms\n"
        "differentiate only with respect to their arguments. Call it outside of the transform; inside,\n"
        "use torch.func.grad and vjp instead of backward(), requires_grad_() and torch.autograd.functional.",
        call);
}

BelowLevel::BelowLevel(uint64_t number) : saved_(stack().active) {
  LevelStack& all = stack();
  size_t active = 0;
  while (active < saved_ && all.levels[active].number < number) ++active;
  set_active(all, active);
}

BelowLevel::~BelowLevel() {
  LevelStack& all = stack();
  set_active(all, std::min(saved_, all.levels.size()));
}

}  // namespace pellucid
