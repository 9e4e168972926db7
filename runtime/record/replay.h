// Replay: a call of a compiled callable, repeated as the list of actions of a Capture.
//
// It has the call's effects on tensors: the same ops in the same order with the same kernels, and the same gradients of
// leaves. It leaves out Python, backward graphs that the call itself consumed, and the dispatch of each op; from the
// third run on, also tensors for intermediate results (record/program.h).
// python/replays.cpp decides whether Python would do the same again. Conditions compares tensors and the thread's
// state.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "core/dtype.h"
#include "record/recompute.h"

namespace pellucid {
struct OpNode;
}

namespace pellucid::record {

// The facts of a tensor, other than its contents, that a call depends on.
struct TensorFacts {
  explicit TensorFacts(TensorImpl& tensor);
  bool hold_of(TensorImpl& tensor) const;

  uint32_t facts;
  bool requires_grad;
  KeySet keys;
  std::vector<int64_t> geometry;
};

// The same for a tensor that the program holds, and the location of its elements.
struct HeldFacts : TensorFacts {
  explicit HeldFacts(TensorImpl& tensor);
  bool hold_of(TensorImpl& tensor) const;

  const Storage* storage;
  int64_t offset;
  size_t nbytes;  // of the storage
};

// What must be unchanged since a call was captured, other than Python's objects: the state of its thread, the facts of
// its arguments and of the tensors that the program holds.
class Conditions {
 public:
  Conditions(std::vector<Tensor> arguments, std::vector<Tensor> held);

  size_t num_arguments() const { return argument_facts_.size(); }
  const std::vector<Tensor>& arguments() const { return arguments_; }
  const std::vector<Tensor>& held() const { return held_; }
  // Whether a call with these arguments repeats the captured one, given that Python's objects are unchanged.
  bool allow(std::span<TensorImpl* const> arguments) const;
  // Why the captured call, which has ended, cannot be replayed; null if it can.
  const char* broken_by_call() const;
  void forget_arguments() { arguments_.clear(); }

 private:
  bool thread_is_same() const;
  bool is_unwatched_leaf(const TensorImpl& tensor) const;
  bool leaf_is_same(size_t number) const;
  bool gradients_are_apart() const;

  std::vector<Tensor> arguments_, held_;
  std::vector<TensorFacts> argument_facts_;
  std::vector<HeldFacts> held_facts_;
  std::vector<const Storage*> held_storages_;            // sorted
  std::vector<std::unique_ptr<TensorFacts>> gradients_;  // at the beginning of the call; null: none
  ThreadState began_;
  DType default_dtype_;
  bool was_watched_ = false;  // whether a hook received a gradient
  bool were_apart_ = true;    // whether no gradient shared memory with another or with a held tensor
};

class Program;

class Replay {
 public:
  Replay(Recipe recipe, Conditions conditions);
  ~Replay();

  const Recipe& recipe() const { return recipe_; }
  // Changes the recipe to need less memory. Raises after the first run: what it prepares belongs to the recipe.
  Recomputed recompute(const MemoryBudget& budget);
  const Conditions& conditions() const { return conditions_; }
  // Whether no kernel was registered or removed since the capture.
  bool is_current() const;

  // Null before the third run, and if there is none.
  const Program* program() const { return program_.get(); }

  // The tensors of one run.
  class Run {
   public:
    Run(const Replay& replay, std::span<TensorImpl* const> arguments);
    ~Run();
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;
    // May throw; earlier actions keep their effects.
    void run();
    // Whether the run had effects that outlive the call.
    bool has_effects() const { return has_effects_; }
    TensorImpl& at(Slot slot) const { return *values_[slot]; }

    // For Program: the tensors of slots, which are owned unless they existed before, then those that the program adds.
    TensorImpl** tensors() { return values_.data(); }
    void note_effect() { has_effects_ = true; }
    void perform(const Action& action);

   private:
    bool is_owned(size_t tensor) const;
    void call(const Action& action);
    void view(const Action& action);
    void set(Slot slot, Tensor tensor);
    const Replay& replay_;
    const Program* const program_;  // null: the actions run one by one
    std::vector<TensorImpl*> values_;
    bool has_effects_ = false;
  };
  // False if another run of this replay is in progress, perhaps in this thread.
  bool begin() const { return !is_busy_.exchange(true, std::memory_order_acquire); }
  void end() const { is_busy_.store(false, std::memory_order_release); }

 private:
  // The program, once it can be made.
  const Program* program_of_run() const;

  Recipe recipe_;  // unchanged from the first run on
  const Conditions conditions_;
  // Written by the run in progress.
  mutable std::unique_ptr<const Program> program_;
  mutable int runs_ = 0;
  mutable std::atomic<bool> is_busy_{false};
};

}  // namespace pellucid::record
