// Replay: a call of a compiled callable, run again as the list of actions that a Capture wrote down.
//
// It does what the call did to tensors: the same ops in the same order, by the same kernels, the same gradients given to
// leaves. What is left out is Python, histories that the call itself used up, and each op's way through the
// dispatcher. Whether Python would do the same again is not known here: that is python/replays.cpp. Conditions compare
// what tensors and the thread are.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "core/dtype.h"
#include "record/capture.h"

namespace pellucid {
struct OpNode;
}

namespace pellucid::record {

// What of a tensor, beside its contents, decides how a call goes.
struct TensorFacts {
  explicit TensorFacts(TensorImpl& tensor);
  bool hold_of(TensorImpl& tensor) const;

  uint32_t facts;
  bool requires_grad;
  KeySet keys;
  std::vector<int64_t> geometry;
};

// Likewise of a tensor that the program holds: where its elements are.
struct HeldFacts : TensorFacts {
  explicit HeldFacts(TensorImpl& tensor);
  bool hold_of(TensorImpl& tensor) const;

  const Storage* storage;
  int64_t offset;
  size_t nbytes;  // of the storage
};

// What has to be as it was when a call was captured, beside Python's objects: its thread, its arguments and the tensors
// that the program holds.
class Conditions {
 public:
  Conditions(std::vector<Tensor> arguments, std::vector<Tensor> held);

  size_t num_arguments() const { return argument_facts_.size(); }
  const std::vector<Tensor>& arguments() const { return arguments_; }
  const std::vector<Tensor>& held() const { return held_; }
  // Whether a call with these arguments goes as the captured one did, if Python reads the same.
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
  std::vector<std::unique_ptr<TensorFacts>> gradients_;  // those at the call's begin; null: none
  ThreadState began_;
  DType default_dtype_;
  bool was_watched_ = false;  // a hook saw a gradient
  bool were_apart_ = true;    // no gradient shared memory with another or with a tensor that is held
};

class Replay {
 public:
  Replay(Recipe recipe, Conditions conditions);

  const Recipe& recipe() const { return recipe_; }
  const Conditions& conditions() const { return conditions_; }
  // Whether no kernel was registered or removed since.
  bool is_current() const;

  // The tensors of one run.
  class Run {
   public:
    Run(const Replay& replay, std::span<TensorImpl* const> arguments);
    ~Run();
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;
    // May throw; what has been done by then is done.
    void run();
    // Whether something was done that outlives the call.
    bool has_effects() const { return has_effects_; }
    TensorImpl& at(Slot slot) const { return *values_[slot]; }

   private:
    void call(const Action& action);
    void view(const Action& action);
    void set(Slot slot, Tensor tensor);
    const Replay& replay_;
    std::vector<TensorImpl*> values_;
    bool has_effects_ = false;
  };
  // False: another run of this replay is under way, maybe of this thread.
  bool begin() const { return !is_busy_.exchange(true, std::memory_order_acquire); }
  void end() const { is_busy_.store(false, std::memory_order_release); }

 private:
  const Recipe recipe_;
  const Conditions conditions_;
  mutable std::atomic<bool> is_busy_{false};
};

}  // namespace pellucid::record
