#include "autograd/view_history.h"
#include "autograd/fixed_derivative.h"

#include "autograd/copy_slices.h"
#include "autograd/op_node.h"
#include "autograd/strided_ops.h"
#include "autograd/tensor_history.h"
#include "core/complex_view.h"
#include "core/error.h"
#include "core/named_ops.h"
#include "core/pending.h"
#include "core/thread_state.h"

namespace pellucid {
namespace {

[[noreturn]] void raise_stale(const char* how) {
  raise(ErrorKind::Runtime,
        "a view %s cannot be used with gradients after its base or another view of it was modified inplace:\n"
        "whether the change belongs to its history is ambiguous. Make the view after the change, or clone it before.",
        how);
}

// Makes the history of the call's result that of the call.
void record(const OpCall& call) {
  Ref<OpNode> node = make_op_node(call, node_facts_of(call, permanent(&fixed_derivative(*call.op))));
  set_history(*call.rets[0].tensor, Ref<Node>::adopt(node.leak()), 0);
}

void record(NamedOp op, TensorImpl& source, TensorImpl& view) {
  Value args[] = {Value::of(&source)}, rets[] = {Value::of(&view)};
  record(OpCall{&named_op(op), args, rets, 1, {}});
}

// Makes the history of `view`, which reads the memory of `base`, that of as_strided of the base, between the views that
// change how elements are read.
void record_from(TensorImpl& base, TensorImpl& view) {
  const KeySet differing = KeySet::from_bits(pending_of(view).bits() ^ pending_of(base).bits());
  const auto through = [&](const Tensor& inner, NamedOp op) {
    record_from(base, *inner);
    record(op, *inner, view);
  };
  const auto over = [&](const Tensor& outer, NamedOp op) {
    record(op, base, *outer);
    record_from(*outer, view);
  };
  const bool of_complex = is_complex(base.dtype), is_complex_view = is_complex(view.dtype);
  if (differing.has(Key::Negative)) return through(toggled(view, Key::Negative, false), NamedOp::NegView);
  if (differing.has(Key::Conjugate) && is_complex_view)
    return through(toggled(view, Key::Conjugate, false), NamedOp::ConjView);
  if (differing.has(Key::Conjugate)) return over(toggled(base, Key::Conjugate, false), NamedOp::ConjView);
  if (is_complex_view && !of_complex) return through(view_as_real(view, false), NamedOp::ViewAsComplex);
  if (of_complex && !is_complex_view) return over(view_as_real(base, false), NamedOp::ViewAsReal);
  record(StridedCall(base, view).call);
}

Node* record_view(TensorImpl& view) {
  record_from(*view.base, view);
  return view.autograd->grad_fn.get();
}

const char* refusal(const TensorImpl& view) {
  if (view.flags & TensorImpl::kNoGradView)
    return "A view that was created in no_grad mode is being modified inplace with grad mode enabled, so that it is\n"
           "ambiguous whether the write is to be recorded. Make the view outside no_grad, or write inside no_grad.";
  if (view.flags & TensorImpl::kMultiView)
    return "This view comes from a function that returns several views, and is being modified inplace;\n"
           "use the out-of-place op, or make the views one by one (narrow, select, indexing).";
  if (view.flags & TensorImpl::kFunctionView)
    return "This view was made inside a custom Function (or is an input that one returned) and is being modified\n"
           "inplace, which would bypass the Function's backward. Return a clone from the Function's forward.";
  return nullptr;
}

}  // namespace

Node* view_grad_fn(TensorImpl& view) {
  if (!requires_grad(view)) return nullptr;
  AutogradMeta* meta = view.autograd;
  const uint32_t version = view.version().load(std::memory_order_relaxed);
  if (meta && meta->grad_fn && meta->view_version == version) [[likely]]
    return meta->grad_fn.get();
  Node* base_node = view.base->requires_grad() ? grad_fn(*view.base) : nullptr;
  const bool rewritten = meta && meta->grad_fn;
  if (view.flags & TensorImpl::kNoGradView) {
    if (meta ? meta->view_version == version || (meta->view_version == kNoVersion && !base_node) : !base_node)
      return nullptr;
    raise_stale("made in no_grad mode");
  }
  if (view.flags & TensorImpl::kFunctionView && rewritten) raise_stale("made by a custom Function");
  if (view.flags & TensorImpl::kMultiView && rewritten) raise_stale("made by a function that returns several views");
  if (!base_node && !rewritten) return nullptr;
  return record_view(view);
}

void check_inference_write(const char* writer, const TensorImpl& written) {
  if (!(written.flags & TensorImpl::kInference) || thread_state.inference_mode) return;
  raise(ErrorKind::Runtime,
        "%s: Inplace update to inference tensor outside InferenceMode is not allowed: changes of such tensors are\n"
        "not counted. Write inside inference_mode(), or to a clone, which is an ordinary tensor.",
        writer);
}

void check_in_place(const char* writer, TensorImpl& written, bool needs_grad) {
  if (!needs_grad) return;
  if (written.base) {
    if (const char* why = refusal(written)) raise(ErrorKind::Runtime, "%s: %s", writer, why);
    if (requires_grad(written) && is_leaf(*written.base))
      raise(ErrorKind::Runtime,
            "%s: a view of a leaf Variable that requires grad is being used in an in-place operation.\n"
            "The leaf's gradient would be that of its overwritten value. Write under torch.no_grad(), or to a clone.",
            writer);
    return;
  }
  if (requires_grad(written) && is_leaf(written))
    raise(ErrorKind::Runtime,
          "%s: a leaf Variable that requires grad is being used in an in-place operation.\n"
          "Its gradient would be that of its overwritten value. Write under torch.no_grad(), or to a clone.",
          writer);
}

void become_base(TensorImpl& view) {
  if (!view.base || view.wrapper || !view.base->unique()) [[likely]]
    return;
  if (view.requires_grad() != view.base->requires_grad()) return;
  if (view.requires_grad() && !view_grad_fn(view)) return;
  view.flags &= static_cast<uint16_t>(~(TensorImpl::kNoGradView | TensorImpl::kMultiView));
  Tensor::adopt(std::exchange(view.base, nullptr));
}

void rebase_history(TensorImpl& view, Ref<Node> writer, uint32_t self_edge) {
  TensorImpl& base = *view.base;
  Ref<Node> node = make_copy_slices(base, view, std::move(writer), self_edge);
  set_history(base, std::move(node), 0);
  record_view(view);
}

}  // namespace pellucid
