#include "intrinsics/complex_views.h"

#include "autograd/derivative.h"
#include "autograd/handler.h"
#include "core/complex_view.h"
#include "core/dispatcher.h"
#include "core/named_ops.h"

namespace pellucid {
namespace {

struct ComplexView {
  const char* schema;
  NamedOp copy;      // the op that computes the same elements
  NamedOp gradient;  // the op that takes the result's gradient to the operand's
  Tensor (*view)(TensorImpl& tensor, bool detached);
  CastRule cast_rule = CastRule::None;
  OpRecord* op = nullptr;
};
ComplexView views[] = {
    {"view_as_real(Tensor(a) self) -> Tensor(a)", NamedOp::ViewAsRealCopy, NamedOp::ViewAsComplexCopy, view_as_real},
    {"view_as_complex(Tensor(a) self) -> Tensor(a)", NamedOp::ViewAsComplexCopy, NamedOp::ViewAsRealCopy,
     view_as_complex, CastRule::Float32},
};

ComplexView& view_of(const OpCall& call) { return call.op == views[0].op ? views[0] : views[1]; }

void run_view(OpCall& call, void*) { call.rets[0] = Value::of(view_of(call).view(*call.args[0].tensor, false).leak()); }

void run_copy(OpCall& call, void*) {
  OpCall copy{&named_op(view_of(call).copy), call.args, call.rets, 1, {}};
  dispatch(copy);
}

DerivativePlan plan_with(const OpRecord& derivative) {
  DerivativePlan plan;
  plan.op = &derivative;
  plan.arguments.push_back({ArgumentSource::From::Gradient, 0, -1});
  plan.results = {0};
  return plan;
}

SharedPlan plan_of(const OpCall& call, uint64_t) {
  static const DerivativePlan of_real = plan_with(named_op(views[0].gradient)),
                              of_complex = plan_with(named_op(views[1].gradient));
  return permanent(call.op == views[0].op ? &of_real : &of_complex);
}

}  // namespace

void define_complex_views() {
  static const DerivativeFinder finder = plan_of;
  for (ComplexView& view : views) {
    view.op = define_op(view.schema);
    view.op->kind = OpKind::View;
    view.op->is_function = true;
    view.op->cast_rule = view.cast_rule;
    register_catch_all(*view.op, {run_view, nullptr});
    register_kernel(*view.op, Key::Autograd, {autograd_handler, const_cast<DerivativeFinder*>(&finder)});
    register_kernel(*view.op, Key::ViewInPlace, {view_handler, nullptr});
    register_kernel(*view.op, Key::Transforms, {run_copy, nullptr});
  }
}

}  // namespace pellucid
