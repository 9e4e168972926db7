#include "autograd/view_history.h"
#include "autograd/fixed_derivative.h"

#include "autograd/copy_slices.h"
#include "autograd/op_node.h"
#include "autograd/strided_ops.h"
#include "autograd/tensor_history.h"
#include "core/error.h"
#include "core/thread_state.h"

namespace pellucid {
namespace {

[[noreturn]] void raise_stale(const char* how) {
  raise(ErrorKind::Runtime,
        "a view %s cannot be used with gradients after its base or another view of it was modified inplace:\n"
        "whether the change belongs to its history is ambiguous. Make the view after the change, or clone it before.",
        how);
}

void refuse_other_dtype(const TensorImpl& view) {
  if (view.dtype != view.base->dtype)
    raise(ErrorKind::NotImplemented,
          "a write through a view of another dtype (real, imag, view_as_real, view_as_complex) is not recorded:\n"
          "make the new tensor from its parts (torch.complex), or write under torch.no_grad().");
}

// Makes the history of `view` that of as_strided of its base, with this geometry.
Node* record_as_strided(TensorImpl& view) {
  refuse_other_dtype(view);
  const StridedCall strided(view);
  Ref<OpNode> node =
      make_op_node(strided.call, node_facts_of(strided.call, permanent(&fixed_derivative(*strided.call.op))));
  OpNode* made = node.get();
  set_history(view, Ref<Node>::adopt(node.leak()), 0);
  return made;
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
  return record_as_strided(view);
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
  refuse_other_dtype(view);
  Ref<Node> node = make_copy_slices(base, view, std::move(writer), self_edge);
  set_history(base, std::move(node), 0);
  record_as_strided(view);
}

}  // namespace pellucid
