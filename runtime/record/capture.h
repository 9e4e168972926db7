// Capture: writes down what a call of a compiled callable does, so that a Replay (record/replay.h) does it again without
// Python.
//
// While a thread captures, each of its ops runs at once and is written down by the handler at Key::Lazy, with where its
// operands come from: an argument of the call, a tensor that the program holds, the gradient of one, a result of an
// earlier op, or another view of any of these. Views are made where an op reads them. Whatever else changes tensors on the
// way (gradients of leaves, constants of the engine) is reported through core/recording.h. The first thing that
// cannot be written down ends the capture with a reason; the call goes on all the same.
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

// A tensor of a replay. Which tensors there are follows from the capture; each replay has others.
using Slot = uint32_t;
constexpr Slot kNoSlot = UINT32_MAX;

struct SlotOrigin {
  enum class Kind : uint8_t { Argument, Held, Gradient, Made };
  Kind kind;
  uint32_t number = 0;  // of the argument or of the held tensor
};

struct Action {
  enum class Kind : uint8_t { Call, View, Make, Gradient };
  Kind kind;
  // Call
  const OpRecord* op = nullptr;
  std::shared_ptr<const OpRecord> op_owner;
  uint32_t epoch = 0;  // of the op
  StoredValues arguments;
  std::vector<Slot> operands;   // one per tensor of `arguments`
  std::vector<Slot> results;    // one per tensor that it gives; kNoSlot: not kept
  std::vector<int64_t> numels;  // of these
  bool writes = false;          // memory that was there before
  bool has_effects() const;     // that outlive the call, maybe
  mutable std::unique_ptr<Prepared> prepared;
  mutable uint8_t runs = 0;
  // View: `slot` is a view of `source`, `offset` elements from its first. Make: `slot`.
  Slot slot = kNoSlot, source = kNoSlot;  // of Gradient: the gradient (kNoSlot: none)
  int64_t offset = 0;
  DType dtype = DType::Float32;
  std::vector<int64_t> sizes, strides;
  std::string bytes;           // of Make: its storage's; none: written later
  uint32_t leaf = 0;           // of Gradient: the held tensor
  std::vector<Slot> released;  // after the action
};

// What a capture found.
struct Recipe {
  std::vector<SlotOrigin> slots;
  std::vector<Action> actions;
  std::deque<std::string> texts;  // which arguments point to
  bool writes = false;            // some action writes memory that was there before the call

  bool same_as(const Recipe& other) const;
  // Whether an op may fail after something was done that outlives the call.
  bool may_fail_halfway() const;
};

class Capture {
 public:
  Capture(std::vector<Tensor> arguments, std::vector<Tensor> held);
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  static Capture* of_this_thread();

  // Runs the call by the handlers at `below` and writes it down.
  void run(OpCall& call, KeySet below);
  // Of any call, also of one that only calls others: results other than tensors follow from elements.
  void see_results(const OpCall& call);
  void note_gradient(TensorImpl& leaf, TensorImpl* gradient);
  void note_made(TensorImpl& made, bool is_filled);
  void fail(const std::string& reason);
  const std::string& failure() const { return failure_; }

  // Where `tensor`, which outlives the call, comes from: the same tensor, or kNoSlot.
  Slot slot_of_result(TensorImpl& tensor);
  bool is_argument(const TensorImpl& tensor, uint32_t& number) const;
  bool is_held(const TensorImpl& tensor, uint32_t& number) const;
  // Ends it: what happens from now on is not written down.
  Recipe finish(std::span<const Slot> kept);

 private:
  struct Root {
    Slot slot;
    uint32_t version;  // that its storage has if only actions write it
    std::vector<Slot> slots;
    Tensor outside;  // an argument, a held tensor or a gradient that was there before
  };
  struct View {
    DType dtype;
    int64_t offset;
    std::vector<int64_t> sizes, strides;
    bool operator==(const View&) const = default;
  };
  static View view_of(const TensorImpl& tensor);
  Slot add_slot(SlotOrigin origin, const TensorImpl& tensor);
  void add_outside(const Tensor& tensor, SlotOrigin origin);
  Root* find_root(const TensorImpl& tensor);
  Slot operand_slot(TensorImpl& tensor, const char* reader);
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
