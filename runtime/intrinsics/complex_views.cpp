// view_as_real and view_as_complex: the same memory under the other dtype.
#include "core/complex_view.h"
#include "intrinsics/kernels.h"

namespace pellucid::intrinsics {

void view_as_real(OpCall& call, void*) {
  call.rets[0] = Value::of(pellucid::view_as_real(*call.args[0].tensor, false).leak());
}

void view_as_complex(OpCall& call, void*) {
  call.rets[0] = Value::of(pellucid::view_as_complex(*call.args[0].tensor, false).leak());
}

<<<<<<< HEAD
}  // namespace pellucid::intrinsics
=======
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
>>>>>>> scaling
