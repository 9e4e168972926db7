#include "core/pending.h"

#include <deque>
#include <iterator>
#include <utility>
#include <vector>

#include "core/call_op.h"
#include "core/dispatcher.h"
#include "core/named_ops.h"
#include "core/owned_results.h"
#include "core/thread_state.h"

namespace pellucid {
namespace {

struct Pending {
  Key key;
  NamedOp toggle, compute;
};
constexpr Pending kPending[] = {{Key::Conjugate, NamedOp::ConjView, NamedOp::ConjPhysical},
                                {Key::Negative, NamedOp::NegView, NamedOp::Neg}};

// The out= forms of `compute`, found when the handlers are installed.
const OpRecord* compute_into[std::size(kPending)];

Tensor computed(TensorImpl& tensor, const Pending& pending) {
  const Tensor stored = call_op(pending.toggle, {Value::of(&tensor)});
  return call_op(pending.compute, {Value::of(stored.get())});
}

// A call whose tensors with a pending operation are replaced by computed ones.
class ComputedCall {
 public:
  ComputedCall(const OpCall& call, const Pending& pending)
      : pending_(pending), args_(call.args, call.args + call.num_args) {
    for (size_t k = 0; k < args_.size(); ++k) replace(args_[k], call.op->schema.arguments[k].written);
    call_ = {call.op, args_.data(), call.rets, call.num_args, {}};
  }

  void run() {
    dispatch(call_);
    OwnedResults results(call_);
    for (const auto& [given, temporary] : written_) {
      resize_tensor(*given, temporary->shape());  // of an out= that the op has resized
      const Tensor stored = call_op(pending_.toggle, {Value::of(given)});
      call_op(*compute_into[&pending_ - kPending], {Value::of(temporary), Value::of(stored.get())});
    }
    for (size_t k = 0; k < call_.op->schema.returns.size(); ++k)
      for (const auto& [given, temporary] : written_) {
        Value& result = call_.rets[k];
        if (!result.is_tensor() || result.tensor != temporary) continue;
        Tensor::adopt(std::exchange(result, Value::of(Tensor::share(given).leak())).tensor);
      }
    results.pass_on();
  }

 private:
  TensorImpl* replaced(TensorImpl* tensor, bool is_written) {
    if (!tensor || !tensor->keys.has(pending_.key)) return tensor;
    TensorImpl* made = owned_.emplace_back(computed(*tensor, pending_)).get();
    if (is_written) written_.emplace_back(tensor, made);
    return made;
  }

  void replace(Value& value, bool is_written) {
    if (value.tag == Tag::Tensor) value.tensor = replaced(value.tensor, is_written);
    if (value.tag != Tag::TensorList && value.tag != Tag::OptionalTensorList) return;
    std::vector<TensorImpl*>& list = lists_.emplace_back();
    for (TensorImpl* tensor : value.list()) list.push_back(replaced(tensor, is_written));
    value.tensors = list.data();
  }

  const Pending& pending_;
  std::vector<Value> args_;
  std::deque<std::vector<TensorImpl*>> lists_;
  std::vector<Tensor> owned_;
  std::vector<std::pair<TensorImpl*, TensorImpl*>> written_;  // as given, and in its place
  OpCall call_{};
};

void compute_operands(OpCall& call, void* pending) { ComputedCall(call, *static_cast<const Pending*>(pending)).run(); }

}  // namespace

void set_pending(TensorImpl& tensor, KeySet pending) {
  tensor.keys = (tensor.keys - kPendingKeys) | pending;
  if (pending.empty()) tensor.flags &= static_cast<uint16_t>(~TensorImpl::kPending);
  else tensor.flags |= TensorImpl::kPending;
}

Tensor toggled(TensorImpl& tensor, Key key, bool detached) {
  Tensor view = make_view(tensor, tensor.shape(), tensor.stride(), tensor.offset, detached);
  const KeySet pending = pending_of(tensor);
  set_pending(*view, pending.has(key) ? pending - KeySet(key) : pending | key);
  return view;
}

Tensor resolved(TensorImpl& tensor) {
  const ExcludeKeys unrecorded(KeySet(Key::Autograd) | Key::ViewInPlace);
  Tensor result = Tensor::share(&tensor);
  for (const Pending& pending : kPending)
    if (result->keys.has(pending.key)) result = computed(*result, pending);
  return result;
}

void fall_through_pending(OpRecord& op) {
  for (const Pending& pending : kPending) register_fall_through(op, pending.key);
}

void register_pending() {
  for (const Pending& pending : kPending)
    register_fallback(pending.key, {compute_operands, const_cast<Pending*>(&pending)});
  for_each_op(
      [](OpRecord& op, void*) {
        if (op.kind == OpKind::View) fall_through_pending(op);
        if (op.variant != Variant::Out) return;
        for (const Pending& pending : kPending)
          if (op.functional == &named_op(pending.compute)) compute_into[&pending - kPending] = &op;
      },
      nullptr);
}

}  // namespace pellucid
