// Capture: the actions of one call of a compiled callable, from which a Replay (record/replay.h) repeats the call
// without Python.
//
// While a thread captures, each of its ops runs immediately and the handler at Key::Lazy appends it to the recipe, with
// the origin of its operands: an argument of the call, a tensor that the program holds, the gradient of one, a result
// of an earlier op, or another view of any of these. Views are created where an op reads them. Other changes of tensors
// (gradients of leaves, constants of the engine) are reported through core/recording.h. The first action that cannot be
// captured ends the capture with a reason; the call itself continues.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/call_facts.h"
#include "core/recording.h"
#include "core/stored_values.h"

namespace pellucid::record {

// The number of a tensor in a recipe. Each run of a replay has its own tensors in these slots.
using Slot = uint32_t;
constexpr Slot kNoSlot = UINT32_MAX;

struct SlotOrigin {
  enum class Kind : uint8_t { Argument, Held, Gradient, Made };
  Kind kind;
  uint32_t number = 0;  // of the argument or of the held tensor
  DType dtype = DType::Float32;
  Slot memory = kNoSlot;  // the slot whose memory it shares: its own, or that of which it is a view
  bool is_used = false;   // whether an action reads or makes it
};

// What an action's calls leave for the next one. A copy of the action begins without it.
struct Preparation {
  Preparation() = default;
  Preparation(const Preparation&) {}
  Preparation(Preparation&&) = default;
  Preparation& operator=(Preparation&&) = default;

  std::unique_ptr<Prepared> prepared;
  uint8_t runs = 0;
};

struct Action {
  enum class Kind : uint8_t { Call, View, Make, Gradient };
  Action() = default;
  Action(Action&&) = default;
  Action& operator=(Action&&) = default;
  Kind kind;
  // Call
  const OpRecord* op = nullptr;
  std::shared_ptr<const OpRecord> op_owner;
  uint32_t epoch = 0;  // of the op
  StoredValues arguments;
  std::vector<Slot> operands;   // one per tensor of `arguments`
  std::vector<Slot> results;    // one per tensor that it returns; kNoSlot: unused
  std::vector<int64_t> numels;  // of the results
  std::vector<Slot> written;    // operands that it writes
  std::vector<Slot> reusable;   // operands in whose memory a result could be computed
  int64_t nanoseconds = 0;      // that it took in the captured call
  bool writes = false;          // whether it writes memory that existed before the call
  bool has_effects() const;     // whether it may have effects that outlive the call
  Action repeated() const;      // the same action once more, which releases nothing
  mutable Preparation preparation;
  // View: `slot` becomes a view of `source`, `offset` elements from its first, with `pending` operations. Make: `slot`
  // is created. Gradient: `slot` is the gradient (kNoSlot: none).
  Slot slot = kNoSlot, source = kNoSlot;
  int64_t offset = 0;
  DType dtype = DType::Float32;
  std::vector<int64_t> sizes, strides;
  KeySet pending;
  std::string bytes;           // of Make: the storage's contents; empty if an op writes them later
  bool is_number = false;      // of Make: whether it was a Python number, which is weak in promotion
  uint32_t leaf = 0;           // of Gradient: the held tensor
  std::vector<Slot> released;  // tensors freed after the action
  std::vector<Slot> donated;   // of Call: operands whose memory nobody reads after it (Recipe::find_donated)

 private:
  Action(const Action&) = default;  // strings of `arguments` are the recipe's
};

// The result of a capture.
struct Recipe {
  std::vector<SlotOrigin> slots;
  std::vector<Action> actions;
  std::deque<std::string> texts;  // strings that arguments point to
  bool writes = false;            // whether an action writes memory that existed before the call

  bool same_as(const Recipe& other) const;
  // Whether an op may fail after an effect that outlives the call.
  bool may_fail_halfway() const;
  // Finds what each action donates, once it is known what each releases. References do not tell: where ops are launches
  // over memory (record/program.h), the views that they read have no tensors. So nothing is donated but memory that the
  // call makes and gives to no leaf, by the action that releases its last slot and reads it through that one alone.
  void find_donated();
};

class Capture {
 public:
  Capture(std::vector<Tensor> arguments, std::vector<Tensor> held);
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  static Capture* of_this_thread();

  // Runs the call with the handlers at `below` and captures it.
  void run(OpCall& call, KeySet below);
  // Fails the capture if a call, also of a composite, returns anything other than tensors: such results are
  // data-dependent.
  void see_results(const OpCall& call);
  void note_gradient(TensorImpl& leaf, TensorImpl* gradient);
  void note_made(TensorImpl& made, bool is_filled);
  void fail(const std::string& reason);
  const std::string& failure() const { return failure_; }

  // The slot of `tensor`, which the call returns; kNoSlot if no op made it.
  Slot slot_of_result(TensorImpl& tensor);
  bool is_argument(const TensorImpl& tensor, uint32_t& number) const;
  bool is_held(const TensorImpl& tensor, uint32_t& number) const;
  // Ends the capture. `outliving`: slots that outlive the call.
  Recipe finish(std::span<const Slot> outliving);

 private:
  struct Root {
    Slot slot;
    uint32_t version;  // of the storage, if only captured actions write it
    std::vector<Slot> slots;
    Tensor outside;  // an argument, a held tensor or a gradient that existed before the call
  };
  struct View {
    DType dtype;
    int64_t offset;
    std::vector<int64_t> sizes, strides;
    bool is_number;
    KeySet pending;  // operations (core/pending.h)
    bool operator==(const View&) const = default;
  };
  static View view_of(const TensorImpl& tensor);
  Slot add_slot(SlotOrigin origin, const TensorImpl& tensor);
  void add_outside(const Tensor& tensor, SlotOrigin origin);
  Root* find_root(const TensorImpl& tensor);
  Slot operand_slot(TensorImpl& tensor, const char* reader);
  bool reads_place_of_argument(const OpCall& call);
  std::optional<Action> describe(const OpCall& call);
  bool take_results(Action& action, const OpCall& call);

  std::string failure_;
  bool is_open_ = true;
  const ThreadState began_;
  std::vector<Tensor> arguments_, held_;
  std::unordered_map<uint64_t, Root> roots_;  // by storage_id
  std::vector<View> views_;                   // one per slot
  Recipe recipe_;
};

}  // namespace pellucid::record
