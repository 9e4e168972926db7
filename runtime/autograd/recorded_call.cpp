#include "autograd/recorded_call.h"

#include <algorithm>

#include "autograd/anomaly.h"
#include "autograd/op_node.h"
#include "autograd/saved_value.h"
#include "autograd/tensor_history.h"
#include "core/owned_results.h"
#include "core/thread_state.h"

namespace pellucid {

void attach_results(const OpCall& call, Ref<OpNode> node) {
  if (node->num_inputs == 1 && call.rets[0].tag == Tag::Tensor) [[likely]] {
    TensorImpl& result = *call.rets[0].tensor;
    if (is_differentiable(result.dtype)) set_history(result, Ref<Node>::adopt(node.leak()), 0);
    return;
  }
  uint32_t output = 0;
  const uint32_t unrecorded = is_tensor_list(call.rets[0]) ? 0 : call.op->unrecorded;
  const bool several = is_tensor_list(call.rets[0]) || node->num_inputs > 1;
  for_each_result(call, [&](TensorImpl* tensor) {
    const uint32_t number = output++;
    if (!tensor || !is_differentiable(tensor->dtype)) return;
    if (unrecorded && unrecorded >> number & 1) return;
    if (several && tensor->base) tensor->flags |= TensorImpl::kMultiView;
    set_history(*tensor, Ref<Node>::share(node.get()), number);
  });
}

namespace {

bool is_watched(const OpCall& call) { return call.keys.has(Key::PythonDispatch); }

}  // namespace

void record_call(const OpCall& call, Ref<NodeFacts> facts, std::span<const Tensor> extra) {
  Ref<OpNode> node = make_op_node(call, std::move(facts));
  if (node->plan().saved_results) node->save_results(call);
  if (!extra.empty()) node->save_extra(extra);
  if (is_watched(call) && !thread_state.packs_saved_tensors && seen_gradient_reads_results(node->op())) [[unlikely]]
    node->save_watched_results(call);
  if (thread_state.anomaly_mode) [[unlikely]]
    remember_forward_stack(*node);
  if (thread_state.packs_saved_tensors) [[unlikely]] {
    attach_results(call, Ref<OpNode>::share(node.get()));
    node->pack_saved(call);
  } else {
    attach_results(call, std::move(node));
  }
}

Ref<NodeFacts> record_forward(OpCall& call, const OpCall& forward, const SharedPlan& plan, Ref<NodeFacts> facts) {
  const size_t results = call.op->schema.returns.size(), all = forward.op->schema.returns.size();
  std::copy_n(forward.rets, results, call.rets);
  OwnedResults unrecorded(call);
  Tensor extra[kMaxReturns];
  for (size_t i = results; i < all; ++i) extra[i - results] = Tensor::adopt(forward.rets[i].tensor);
  if (!facts) facts = node_facts_of(call, plan);
  record_call(call, facts, {extra, all - results});
  unrecorded.pass_on();
  return facts;
}

namespace {

struct RecordedCall final : Prepared {
  RecordedCall(std::unique_ptr<Prepared> work, Ref<NodeFacts> shared)
      : computation(std::move(work)), facts(std::move(shared)) {}
  bool run(OpCall& call, std::span<TensorImpl* const> tensors) const override;

  const std::unique_ptr<Prepared> computation;
  const Ref<NodeFacts> facts;
};

bool RecordedCall::run(OpCall& call, std::span<TensorImpl* const> tensors) const {
  if (const OpRecord* op = facts->plan->forward) {
    Value given[kMaxReturns];
    OpCall forward{op, call.args, given, call.num_args, {}};
    if (!computation->run(forward, tensors)) [[unlikely]]
      return false;
    record_forward(call, forward, facts->plan_owner, facts);
    return true;
  }
  if (!computation->run(call, tensors)) [[unlikely]]
    return false;
  OwnedResults unrecorded(call);
  record_call(call, facts, {});
  unrecorded.pass_on();
  return true;
}

}  // namespace

std::unique_ptr<Prepared> prepare_recorded(std::unique_ptr<Prepared> computation, Ref<NodeFacts> facts) {
  if (!computation) return nullptr;
  facts->expect_repeated_calls();
  return std::make_unique<RecordedCall>(std::move(computation), std::move(facts));
}

}  // namespace pellucid
