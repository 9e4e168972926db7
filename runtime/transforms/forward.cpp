// Runs one op of a forward level: on the primals, and its tangent rule on primals and tangents.
#include "autograd/derivative.h"
#include "autograd/tensor_history.h"
#include "core/error.h"
#include "core/geometry.h"
#include "core/named_ops.h"
#include "core/owned_results.h"
#include "core/thread_state.h"
#include "transforms/arguments.h"
#include "transforms/handler.h"
#include "transforms/wrapper.h"

namespace pellucid {
namespace {

using From = ArgumentSource::From;

// The inputs of a call at a forward level, by number.
struct Inputs {
  std::vector<Tensor> primals, tangents;  // null: none
  uint64_t moving = 0;

  // `written` will be changed in place: a recorded rule saves copies of its primal and tangent.
  Inputs(const OpCall& call, const Level& level, const TensorImpl* written = nullptr) {
    for_each_input(call, [&](TensorImpl* tensor) {
      const Wrapper* wrapper = wrapper_at(tensor, level.number);
      primals.push_back(wrapper ? wrapper->value : Tensor::share(tensor));
      tangents.push_back(wrapper ? wrapper->tangent : Tensor());
      if (tensor && tensor == written) {
        primals.back() = call_op(NamedOp::Clone, {Value::of(primals.back().get())});
        if (wrapper) tangents.back() = call_op(NamedOp::Clone, {Value::of(tangents.back().get())});
      }
      if (wrapper) moving |= uint64_t{1} << std::min<size_t>(tangents.size() - 1, 63);
    });
    if (!(moving >> 63)) return;
    for (size_t k = 63; k < primals.size(); ++k)  // one bit covers all of them
      if (primals[k] && !tangents[k] && is_differentiable(primals[k]->dtype))
        tangents[k] = call_op(NamedOp::ZerosLike, {Value::of(primals[k].get())});
  }
};

int64_t size_at(const OpCall& call, const SizeSource& source) {
  const Value& value = call.args[source.argument];
  const TensorImpl* tensor = source.element < 0 ? value.tensor : value.tensors[source.element];
  return tensor->sizes[source.dim];
}

Tensor result_at(const OpCall& call, int index) {
  TensorImpl* found = nullptr;
  int number = 0;
  for_each_result(call, [&](TensorImpl* tensor) {
    if (number++ == index) found = tensor;
  });
  return Tensor::share(found);
}

// A tangent has its value's shape and dtype; a pointwise rule may not have read every operand that was broadcast.
Tensor fitted(Tensor tangent, const TensorImpl& primal) {
  if (!std::ranges::equal(tangent->shape(), primal.shape()))
    tangent = call_op(NamedOp::Expand, {Value::of(tangent.get()), Value::of(primal.shape()), Value::of_bool(false)});
  if (tangent->dtype != primal.dtype)
    tangent = call_op(NamedOp::ToCopy, {Value::of(tangent.get()), Value::of_dtype(primal.dtype)});
  return tangent;
}

// The tangents of the results, by number; `primal` is the call on the primals, with its results.
std::vector<Tensor> tangents_of(const DerivativePlan& plan, const OpCall& primal, const Inputs& inputs) {
  std::vector<Value> args;
  std::vector<int64_t> sizes;
  std::vector<Tensor> owned;
  for (const SizeSource& size : plan.sizes) sizes.push_back(size_at(primal, size));
  for (const ArgumentSource& source : plan.arguments) {
    switch (source.from) {
      case From::Argument: {
        const Value& value = primal.args[source.index];
        args.push_back(source.element < 0 ? value : Value::of(value.tensors[source.element]));
        break;
      }
      case From::Result:
        owned.push_back(result_at(primal, source.index));
        args.push_back(Value::of(owned.back().get()));
        break;
      case From::Tangent: args.push_back(Value::of(inputs.tangents[static_cast<size_t>(source.index)].get())); break;
      case From::Sizes: args.push_back(Value::of(std::span<const int64_t>(sizes))); break;
      case From::Constant: args.push_back(plan.constants[static_cast<size_t>(source.index)]); break;
      case From::Gradient:
      case From::Gradients:
      case From::Saved: raise(ErrorKind::Runtime, "a tangent rule needs a gradient; this is a fault of pellucid");
    }
  }
  Value rets[kMaxReturns];
  OpCall call{plan.op, args.data(), rets, static_cast<uint8_t>(args.size()), {}};
  dispatch(call);
  std::vector<Tensor> tangents;
  size_t next = 0;
  OwnedResults(call).take_each([&](Tensor tangent) {
    if (!tangent) return;
    const auto result = static_cast<size_t>(plan.results[next++]);
    if (tangents.size() <= result) tangents.resize(result + 1);
    tangents[result] = fitted(std::move(tangent), *result_at(primal, static_cast<int>(result)));
  });
  return tangents;
}

// The tangent of a view is the same view of the tangent, and so has the value's strides.
std::vector<Tensor> viewed_tangents(const OpCall& call, const Level& level) {
  Arguments arguments(call);
  arguments.change_tensors(*call.op, [&](TensorImpl* tensor, unsigned) {
    Wrapper* wrapper = wrapper_at(tensor, level.number);
    if (!wrapper) return tensor;
    const TensorImpl& primal = *wrapper->value;
    Tensor& tangent = wrapper->tangent;
    if (!primal.wrapper && !tangent->wrapper && !std::ranges::equal(primal.stride(), tangent->stride()) &&
        internal_overlap(primal) != Overlap::Yes) {
      Tensor same = empty_strided(primal.shape(), primal.stride(), tangent->dtype, tangent->device);
      tangent = call_op(NamedOp::Copy, {Value::of(same.get()), Value::of(tangent.get())});
    }
    return tangent.get();
  });
  Value rets[kMaxReturns];
  OpCall viewed = arguments.call(*call.op, rets);
  dispatch(viewed);
  std::vector<Tensor> tangents;
  OwnedResults(viewed).take_each([&](Tensor tangent) { tangents.push_back(std::move(tangent)); });
  return tangents;
}

void run_functional(OpCall& call, const Level& level, const TensorImpl* written = nullptr) {
  const Inputs inputs(call, level, written);
  Arguments arguments(call);
  arguments.change_tensors(*call.op, [&](TensorImpl*, unsigned number) { return inputs.primals[number].get(); });
  OpCall primal = arguments.call(*call.op, call.rets);
  dispatch(primal);
  std::vector<Tensor> tangents;
  if (call.op->kind == OpKind::View) {
    tangents = viewed_tangents(call, level);
  } else if (call.op->derivative) {
    if (const SharedPlan plan = find_rule(Rule::Jvp, primal, inputs.moving))
      tangents = tangents_of(*plan, primal, inputs);
  } else if (call.op->kind != OpKind::Random) {
    raise(ErrorKind::NotImplemented, "%s has no forward derivative: it was not declared, only registered with kernels",
          call.op->qualified_name.c_str());
  }
  change_results(primal, [&](Tensor value, unsigned number) {
    if (number >= tangents.size() || !tangents[number]) return value;
    return make_dual(std::move(value), tangents[number], level.number);
  });
}

// `tensor` already has its new value; null `tangent`: no operand had one.
void write_tangent(TensorImpl& tensor, Tensor tangent, const Level& level) {
  Wrapper* wrapper = wrapper_at(&tensor, level.number);
  if (wrapper && !tangent) {
    call_op(NamedOp::Zero, {Value::of(wrapper->tangent.get())});
  } else if (wrapper) {
    if (internal_overlap(*wrapper->tangent) == Overlap::Yes)
      wrapper->tangent = call_op(NamedOp::Clone, {Value::of(wrapper->tangent.get())});
    make_batched_as(*wrapper->tangent, *tangent);
    call_op(NamedOp::Copy, {Value::of(wrapper->tangent.get()), Value::of(tangent.get())});
  } else if (tangent) {
    make_dual_in_place(tensor, std::move(tangent), level.number);
  }
}

// Whether reverse mode records the ops that a call at this level runs.
bool is_recorded(const OpCall& call, const Level& level) {
  if (!thread_state.grad_mode) return false;
  bool any = false;
  for_each_input(call, [&](TensorImpl* tensor) {
    if (!tensor) return;
    const Wrapper* wrapper = wrapper_at(tensor, level.number);
    any |= requires_grad(*innermost_value(tensor));
    if (wrapper) any |= requires_grad(*innermost_value(wrapper->tangent.get()));
  });
  return any;
}

void run_primal(OpCall& call, const Level& level) {
  Arguments arguments(call);
  arguments.change_tensors(*call.op, [&](TensorImpl* tensor, unsigned) {
    const Wrapper* wrapper = wrapper_at(tensor, level.number);
    return wrapper ? wrapper->value.get() : tensor;
  });
  OpCall primal = arguments.call(*call.op, call.rets);
  dispatch(primal);
}

void run_in_place(OpCall& call, const Level& level) {
  if (call.args[0].tag != Tag::Tensor)
    raise(ErrorKind::NotImplemented,
          "%s writes a list of tensors, some of which have tangents: call it for each tensor",
          call.op->schema.name.c_str());
  TensorImpl& written = *call.args[0].tensor;
  Tensor tangent;
  if (call.op->functional) {
    Value rets[kMaxReturns];
    OpCall functional{call.op->functional, call.args, rets, call.num_args, {}};
    run_functional(functional, level, is_recorded(call, level) ? &written : nullptr);
    const Tensor result = Tensor::adopt(rets[0].tensor);
    if (const Wrapper* wrapper = wrapper_at(result.get(), level.number)) tangent = fitted(wrapper->tangent, written);
  }
  run_primal(call, level);
  write_tangent(written, std::move(tangent), level);
  change_results(call, [&](Tensor, unsigned) { return Tensor::share(&written); });
}

// While forward mode is off: results have no tangents, and tensors written in place retain theirs.
void run_without_tangents(OpCall& call, const Level& level) {
  const bool writes = call.op->variant == Variant::InPlace && call.args[0].tag == Tag::Tensor;
  TensorImpl* written = writes ? call.args[0].tensor : nullptr;
  run_primal(call, level);
  if (written) change_results(call, [&](Tensor, unsigned) { return Tensor::share(written); });
}

}  // namespace

void run_forward(OpCall& call, const Level& level) {
  const BelowLevel below(level.number);
  if (!forward_mode_enabled()) return run_without_tangents(call, level);
  if (call.op->variant == Variant::InPlace) run_in_place(call, level);
  else run_functional(call, level);
}

}  // namespace pellucid
