// The part of a node that calls with the same facts (core/call_facts.h) share: the layout of a node's block, the
// facts of its gradients, the saved arguments that are not tensors, and the prepared form of its derivative.
//
// Made for each recorded call, or once for a cached call (autograd/recorded_call.h). Used by autograd/op_node.cpp.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "autograd/derivative.h"
#include "autograd/node.h"
#include "core/call_facts.h"
#include "core/ref.h"

namespace pellucid {

struct OpNode;

// The prepared derivative op, for operands with the facts of an earlier node's.
class RepeatedDerivative {
 public:
  // Runs `call`, which a plan built, and prepares its repetition. Null: not possible.
  static std::unique_ptr<RepeatedDerivative> run_and_prepare(OpCall& call, const DerivativePlan& plan);
  // Fills `rets`. False: the operands differ, and nothing was done.
  bool run(const OpNode& node, std::span<const Tensor> gradients, Value* rets) const;

 private:
  bool run_watched(OpCall& call, std::span<TensorImpl* const> tensors) const;

  struct Operand {
    uint8_t argument;
    int16_t gradient;
  };  // gradient < 0: a saved tensor

  std::unique_ptr<Prepared> prepared_;
  const OpRecord* op_ = nullptr;
  uint32_t epoch_ = 0;  // of the op
  DType default_dtype_ = DType::Float32;
  KeySet argument_keys_;
  KeySet keys_;  // the keys that chose the kernel
  uint8_t num_arguments_ = 0;
  bool is_small_ = true;           // regions run it immediately
  std::vector<Operand> operands_;  // the tensors
  std::vector<uint64_t> words_;    // per operand: facts, sizes, strides
};

struct NodeFacts final : RefCounted {
  const OpRecord* op;  // the functional record
  const DerivativePlan* plan;
  const SharedPlan plan_owner;                     // owns the plan and the plan's ops
  const std::shared_ptr<const OpRecord> op_owner;  // if the op is itself a derivative
  uint32_t num_edges = 0, num_results = 0;
  uint32_t node_bytes = 0;
  uint16_t node_class = 0;  // size class of a node's block
  uint16_t own_class = 0;
  uint32_t tensors = 0;           // bits over the plan's arguments: forward tensors and lists of them
  bool saves_number = false;      // a number given for a tensor: freed like a saved tensor, as in PyTorch
  uint32_t owned = 0;             // likewise: forward tensors, forward results, and what the plan's forward op saved
  GradientInfo* infos = nullptr;  // one per result
  Value* constants = nullptr;     // one per argument of the plan: the non-tensors; None in place of tensors
  Value* given = nullptr;         // likewise, one per argument of the op: shown to users who inspect the node

  // Null until one is prepared.
  const RepeatedDerivative* derivative() const { return derivative_.load(std::memory_order_acquire); }
  // Runs the derivative op below the keys that record history.
  void run_derivative(OpCall& call) const;
  // Says that nodes of a cached call will share this.
  void expect_repeated_calls() { is_repeated_ = true; }

  NodeFacts(const OpRecord* op, SharedPlan shared)
      : op(op), plan(shared.get()), plan_owner(std::move(shared)), op_owner(op->self.lock()) {}
  ~NodeFacts() { delete derivative_.load(std::memory_order_acquire); }

 private:
  bool is_repeated_ = false;
  mutable std::atomic<uint8_t> runs_{0};  // up to the run that prepares
  mutable std::atomic<const RepeatedDerivative*> derivative_{nullptr};
};
void destroy(NodeFacts* facts);

// For a call whose `call.rets` is filled in (see find_derivative).
Ref<NodeFacts> node_facts_of(const OpCall& call, SharedPlan shared);

// Calls visit(tensor or null) for each input, in the numbering of derivative.h.
template <class Visit>
inline void for_each_input(const OpCall& call, Visit&& visit) {
  for (uint32_t mask = call.op->schema.tensor_arguments; mask; mask &= mask - 1) {
    const Value& value = call.args[__builtin_ctz(mask)];
    if (value.tag == Tag::TensorList || value.tag == Tag::OptionalTensorList)
      for (TensorImpl* tensor : value.list()) visit(tensor);
    else visit(value.tag == Tag::Tensor ? value.tensor : nullptr);
  }
}
// Likewise for results, with lists flattened.
template <class Visit>
inline void for_each_result(const OpCall& call, Visit&& visit) {
  const size_t count = call.op->schema.returns.size();
  for (size_t i = 0; i < count; ++i) {
    const Value& value = call.rets[i];
    if (value.tag == Tag::TensorList || value.tag == Tag::OptionalTensorList)
      for (TensorImpl* tensor : value.list()) visit(tensor);
    else visit(value.tag == Tag::Tensor ? value.tensor : nullptr);
  }
}

}  // namespace pellucid
