#include "autograd/handler.h"

#include <algorithm>
#include <span>

#include "autograd/anomaly.h"
#include "autograd/derivative.h"
#include "autograd/hooks.h"
#include "autograd/op_node.h"
#include "autograd/recorded_call.h"
#include "autograd/saved_value.h"
#include "autograd/tensor_history.h"
#include "autograd/view_history.h"
#include "core/dispatcher.h"
#include "core/error.h"
#include "core/owned_results.h"
#include "core/thread_state.h"

namespace pellucid {
namespace {

void call_below(OpCall& call) {
  const ExcludeKeys below(kHistoryKeys);
  dispatch(call, call.keys);
}

// One bit per input; bit 63 covers all from the 63rd on.
uint64_t inputs_needing_grad(const OpCall& call) {
  uint64_t bits = 0;
  unsigned number = 0;
  for_each_input(call, [&](TensorImpl* tensor) {
    if (tensor && requires_grad(*tensor)) bits |= uint64_t{1} << (number < 63 ? number : 63);
    ++number;
  });
  return bits;
}

// Null: the op is not differentiable.
SharedPlan derivative_of(const OpCall& call, uint64_t needs_grad, void* finder) {
  if (finder) [[unlikely]]
    return (*static_cast<DerivativeFinder*>(finder))(call, needs_grad);
  const OpRecord& functional = call.op->functional ? *call.op->functional : *call.op;
  return functional.derivative ? find_derivative(call, needs_grad) : SharedPlan();
}

// Views made under no_grad of a tensor that requires gradients: as in PyTorch they require gradients too, but
// have no node.
void mark_unrecorded_views(const OpCall& call) {
  for_each_result(call, [](TensorImpl* tensor) {
    if (!tensor || !tensor->base || !requires_grad(*tensor) || tensor->requires_grad()) return;
    set_requires_grad(*tensor, true);
    tensor->autograd->view_version = tensor->version().load(std::memory_order_relaxed);
  });
}

// The plan that says what a call saves for backward. Null: nothing is saved, or a handler between autograd and
// the op's own kernel must see the call unchanged.
SharedPlan saving_plan(const OpCall& call, uint64_t needs_grad) {
  const KeySet below = call.keys - kHistoryKeys - Key::Lazy;
  if (!(below - kBackends).empty()) return nullptr;
  SharedPlan plan = find_rule(Rule::SavedVjp, call, needs_grad);
  if (!plan || !plan->forward) return nullptr;
  const auto key = static_cast<size_t>(below.highest());
  return plan->forward->table[key].function == call.op->table[key].function ? plan : SharedPlan();
}

void record_saving(OpCall& call, const SharedPlan& plan) {
  PreparationRequest* request = preparation_request_of(call);
  Value given[kMaxReturns];
  OpCall forward{plan->forward, call.args, given, call.num_args, {}};
  PreparationRequest computation{request ? &forward : nullptr, nullptr};
  {
    const ExcludeKeys below(kHistoryKeys);
    const PreparationScope scope(computation);
    dispatch(forward, call.keys);
  }
  Ref<NodeFacts> facts = record_forward(call, forward, plan, nullptr);
  if (request) request->made = prepare_recorded(std::move(computation.made), std::move(facts));
}

void record_functional(OpCall& call, void* finder) {
  const uint64_t needs = thread_state.grad_mode ? inputs_needing_grad(call) : 0;
  call_below(call);
  PreparationRequest* request = preparation_request_of(call);
  std::unique_ptr<Prepared> computation = request ? std::move(request->made) : nullptr;
  if (!needs) {
    if (call.op->kind == OpKind::View) mark_unrecorded_views(call);  // and have no preparation that would repeat this
    else if (request) request->made = std::move(computation);
    return;
  }
  OwnedResults results(call);
  if (SharedPlan plan = derivative_of(call, needs, finder)) {
    const Ref<NodeFacts> facts = node_facts_of(call, std::move(plan));
    record_call(call, facts, {});
    if (request && !finder) request->made = prepare_recorded(std::move(computation), facts);
  } else if (request) {
    request->made = std::move(computation);
  }
  results.pass_on();
}

// The number of the input that is `tensor`.
uint32_t input_number(const OpCall& call, const TensorImpl* tensor) {
  uint32_t number = 0, found = 0;
  bool seen = false;
  for_each_input(call, [&](TensorImpl* input) {
    if (input == tensor && !seen) {
      found = number;
      seen = true;
    }
    ++number;
  });
  return found;
}

// Makes the written tensors the results, which the next handler returns.
void set_written_as_results(OpCall& call) {
  size_t next = 0;
  for (size_t i = 0; i < call.op->schema.arguments.size(); ++i)
    if (call.op->schema.arguments[i].written && next < call.op->schema.returns.size()) call.rets[next++] = call.args[i];
}

void check_inference_writes(const OpCall& call) {
  for (size_t i = 0; i < call.op->schema.arguments.size(); ++i)
    if (call.op->schema.arguments[i].written && call.args[i].tag == Tag::Tensor)
      check_inference_write(call.op->schema.name.c_str(), *call.args[i].tensor);
}

void check_written(const OpCall& call, bool needs_grad) {
  for (size_t i = 0; i < call.op->schema.arguments.size(); ++i) {
    if (!call.op->schema.arguments[i].written) continue;
    const Value& value = call.args[i];
    if (value.tag == Tag::Tensor) check_in_place(call.op->schema.name.c_str(), *value.tensor, needs_grad);
    if (value.tag == Tag::TensorList && needs_grad)
      raise(ErrorKind::NotImplemented,
            "%s writes a list of tensors, which cannot be recorded for gradients.\n"
            "Call it under torch.no_grad(), or use the op on single tensors.",
            call.op->qualified_name.c_str());
  }
}

void record_in_place(OpCall& call, void* finder) {
  check_inference_writes(call);
  const uint64_t needs = thread_state.grad_mode ? inputs_needing_grad(call) : 0;
  if (!needs) return call_below(call);
  check_written(call, true);
  set_written_as_results(call);
  SharedPlan plan = derivative_of(call, needs, finder);
  static const DerivativePlan flat{.op = nullptr, .is_flat = true};
  if (!plan)
    plan = permanent(&flat);  // a comparison or a draw: what it writes does not depend on the previous contents
  Ref<OpNode> node = make_op_node(call, node_facts_of(call, std::move(plan)));
  call_below(call);
  OwnedResults results(call);
  node->save_results(call);
  if (thread_state.anomaly_mode) [[unlikely]]
    remember_forward_stack(*node);
  TensorImpl* written = call.rets[0].tensor;
  if (!is_differentiable(written->dtype)) return results.pass_on();  // x > 0 written into a mask
  if (written->base) rebase_history(*written, Ref<Node>::share(node.get()), input_number(call, written));
  else attach_results(call, node);
  if (thread_state.packs_saved_tensors) [[unlikely]]
    node->pack_saved(call);
  results.pass_on();
}

bool written_requires_grad(const OpCall& call) {
  for (size_t i = 0; i < call.op->schema.arguments.size(); ++i) {
    const Value& value = call.args[i];
    if (call.op->schema.arguments[i].written && value.tag == Tag::Tensor && requires_grad(*value.tensor)) return true;
  }
  return false;
}

// Raises if the call would have to be recorded. A comparison that writes into a mask need not be.
void refuse_out(OpCall& call, void* finder) {
  check_inference_writes(call);
  const uint64_t needs = thread_state.grad_mode ? inputs_needing_grad(call) : 0;
  if (needs && (written_requires_grad(call) || derivative_of(call, needs, finder)))
    raise(ErrorKind::Runtime,
          "%s(): with out=, gradients cannot be recorded, but one of the arguments requires them.\n"
          "Omit out=, call it under torch.no_grad(), or detach the arguments.",
          call.op->schema.name.c_str());
  call_below(call);
}

}  // namespace

void autograd_handler(OpCall& call, void* context) {
  switch (call.op->variant) {
    case Variant::Functional: return record_functional(call, context);
    case Variant::InPlace: return record_in_place(call, context);
    case Variant::Out: return refuse_out(call, context);
  }
}

void saving_handler(OpCall& call, void* context) {
  if (call.op->variant == Variant::Functional && thread_state.grad_mode)
    if (const uint64_t needs = inputs_needing_grad(call))
      if (const SharedPlan plan = saving_plan(call, needs)) return record_saving(call, plan);
  autograd_handler(call, context);
}

void view_handler(OpCall& call, void*) {
  if (call.op->variant != Variant::Functional) check_inference_writes(call);
  bool changed = false;
  for_each_input(call, [&](TensorImpl* tensor) {
    if (!tensor || tensor->requires_grad() || !requires_grad(*tensor)) return;
    set_requires_grad(*tensor, true);
    changed = true;
  });
  if (changed) return dispatch(call);
  ExcludeKeys below{Key::ViewInPlace};
  dispatch(call, call.keys);
}

void register_autograd() {
  install_history_hooks();
  install_anomaly_mode();
  register_fallback(Key::Autograd, {autograd_handler, nullptr});
  register_fallback(Key::ViewInPlace, {view_handler, nullptr});
}

}  // namespace pellucid
