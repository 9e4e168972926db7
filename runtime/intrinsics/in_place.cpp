// Ops that change which elements a tensor has: transpose_ and the other in-place views, resize_, set_.
//
// An in-place view makes the view, recorded as usual, and then the tensor takes over the view's memory and its
// node. Nothing is written, but the version is bumped, because what was saved of the tensor has another shape.
#include "autograd/accumulate_grad.h"
#include "autograd/tensor_history.h"
#include "autograd/view_history.h"
#include "core/hooks.h"
#include "core/named_ops.h"
#include "core/pending.h"
#include "core/thread_state.h"
#include "intrinsics/give.h"
#include "intrinsics/kernels.h"
#include "intrinsics/layout.h"
#include "transforms/wrapper.h"

namespace pellucid::intrinsics {
namespace {

void check_change(const OpCall& call) {
  const char* writer = call.op->schema.name.c_str();
  TensorImpl& self = *call.args[0].tensor;
  check_inference_write(writer, self);
  check_in_place(writer, self, thread_state.grad_mode && requires_grad(self));
}

// The leaf's gradient has the leaf's shape.
void refresh_accumulator(const TensorImpl& tensor) {
  if (!tensor.autograd) return;
  if (AccumulateGrad* node = tensor.autograd->accumulator.load()) node->refresh_info();
}

void take_place_of(TensorImpl& self, TensorImpl& view) {
  const Ref<Node> made_by = thread_state.grad_mode ? Ref<Node>::share(grad_fn(view)) : Ref<Node>();
  std::swap(self.wrapper, view.wrapper);
  self.offset = view.offset;
  set_geometry(self, view.shape(), view.stride());
  if (self.storage) self.bump_version();
  if (made_by) set_history(self, made_by, view.autograd->output_number);
  refresh_accumulator(self);
}

void refuse_wrapped(const OpCall& call) {
  if (call.args[0].tensor->wrapper)
    raise(ErrorKind::NotImplemented, "%s(): a tensor inside a function transform (vmap, jvp) has no memory of its own",
          call.op->schema.name.c_str());
}

void refuse_gradients(const TensorImpl& self) {
  if (requires_grad(self))
    raise(ErrorKind::Runtime,
          "cannot resize variables that require grad: its gradient would have no definite shape.\n"
          "Use reshape(), or resize the result of detach() or .data.");
}

void resize_self(OpCall& call, std::span<const int64_t> sizes, const Value& format) {
  TensorImpl& self = *call.args[0].tensor;
  check_inference_write(call.op->schema.name.c_str(), self);
  refuse_wrapped(call);
  refuse_gradients(self);
  before_write(*self.storage);
  run_recorded_ops();
  resize_tensor(self, sizes);
  const MemoryFormat wanted = format_or(format, MemoryFormat::Contiguous);
  if (wanted == MemoryFormat::Preserve)
    raise(ErrorKind::Runtime, "%s(): preserve_format does not name a memory order; omit it",
          call.op->schema.name.c_str());
  if (!has_format(self, wanted)) {
    const Tensor example = empty_in_format(self, self.dtype, wanted, Device{DeviceType::Meta});
    set_geometry(self, sizes, example->stride());
  }
  self.bump_version();
  give_itself(call, self);
}

}  // namespace

void resize(OpCall& call, void*) {
  const auto given = call.args[1].ints();
  for (int64_t size : given)
    if (size < 0) raise(ErrorKind::Runtime, "resize_(): the size %lld is negative", static_cast<long long>(size));
  resize_self(call, given, call.args[2]);
}

void resize_as(OpCall& call, void*) { resize_self(call, call.args[1].tensor->shape(), call.args[2]); }

void set_from(OpCall& call, void*) {
  TensorImpl &self = *call.args[0].tensor, &source = *call.args[1].tensor;
  check_change(call);
  refuse_wrapped(call);
  if (thread_state.grad_mode && requires_grad(self))
    raise(ErrorKind::Runtime,
          "the derivative for set_ is not implemented: a tensor computed by an op cannot become another one.\n"
          "Use the other tensor itself, or detach() this one first.");
  if (self.dtype != source.dtype)
    raise(ErrorKind::Runtime, "set_(): a tensor of dtype %s cannot be set to one of dtype %s: convert it first",
          std::string(name(self.dtype)).c_str(), std::string(name(source.dtype)).c_str());
  const uint32_t version = self.version().load();
  const KeySet pending = pending_of(self);  // the memory is replaced, not how the tensor reads it
  set_data(self, source);
  set_pending(self, pending);
  self.version().store(version + 1);
  give_itself(call, self);
}

void set_empty(OpCall& call, void*) {
  const int64_t none[] = {0};
  const Tensor empty_one = empty(none, call.args[0].tensor->dtype, call.args[0].tensor->device);
  Value args[] = {call.args[0], Value::of(empty_one.get())};
  OpCall with_source{call.op, args, call.rets, 2, {}};
  set_from(with_source, nullptr);
}

// The in-place views of the op table, and as_strided_, which is not in it.
void change_view(OpCall& call, void*) {
  check_change(call);
  Value made[1];
  const OpRecord* functional = call.op->functional ? call.op->functional : &named_op(NamedOp::AsStrided);
  OpCall view{functional, call.args, made, call.num_args, {}};
  dispatch(view);
  const Tensor result = Tensor::adopt(made[0].tensor);
  take_place_of(*call.args[0].tensor, *result);
  give_itself(call, *call.args[0].tensor);
}

void install_in_place_views() {
  for_each_op(
      [](OpRecord& op, void*) {
        if (op.kind != OpKind::View || op.variant != Variant::InPlace) return;
        register_catch_all(op, {change_view, nullptr});
        for (const Key key : {Key::Autograd, Key::ViewInPlace, Key::Transforms}) register_fall_through(op, key);
      },
      nullptr);
}

}  // namespace pellucid::intrinsics
