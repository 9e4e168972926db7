// The stack of running function transforms: one level per vmap, jvp or dual_level.
//
// A level's tensors are wrappers that carry its number (wrapper.h). An op runs at the innermost level among its
// arguments, with that level and those inside it set aside. Reverse mode has no level: it works on the plain
// tensors inside all wrappers (src/pellucid/func/_reverse.py).
#pragma once

#include <cstdint>
#include <vector>

#include "core/thread_state.h"

namespace pellucid {

enum class LevelKind : uint8_t { Batch, Forward };
enum class Randomness : uint8_t { Error, Different, Same };

struct Level {
  uint64_t number = 0;  // increases inwards; never reused
  LevelKind kind = LevelKind::Batch;
  int64_t size = 0;  // of a Batch level: the number of examples
  Randomness randomness = Randomness::Error;
};

// Of this thread. A level that has been left is dead: its wrappers count as the tensors they wrap.
uint64_t enter_level(LevelKind kind, int64_t size, Randomness randomness);
void leave_level(uint64_t number);
const Level* find_level(uint64_t number);  // null: the level is dead
const Level* innermost_batch_level();      // among those not set aside
std::vector<Level> active_levels();        // innermost last
// Whether ops of this thread compute tangents.
bool& forward_mode_enabled();

// How many user functions this thread's func transforms are calling, including reverse mode: while one runs, code
// that needs the surrounding graph is refused. A dual_level does not count, as it is not a transform.
int& transformed_calls();
void refuse_in_transforms(const char* call);  // raises inside a transform; `call` is the name of the function called

// Sets aside a level and those inside it, for the ops that it runs.
class BelowLevel {
 public:
  explicit BelowLevel(uint64_t number);
  ~BelowLevel();
  BelowLevel(const BelowLevel&) = delete;
  BelowLevel& operator=(const BelowLevel&) = delete;

 private:
  size_t saved_;
};

}  // namespace pellucid
