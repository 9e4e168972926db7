// Views and in-place writes: how a write through a view becomes part of the base's history.
//
// A view's node is valid for one version of its memory. After a write through another view or the base, the
// view's history is that of `as_strided` applied to the current base.
#pragma once

#include "autograd/node.h"
#include "core/tensor.h"

namespace pellucid {

// The node of a view, rebuilt if its memory has changed since; null if the view counts as a leaf.
Node* view_grad_fn(TensorImpl& view);

// Raises if writing to `written` while gradients are recorded is an error: for a leaf, a view of one, or a view created
// in a way that forbids it. `writer` names the op. `needs_grad`: some argument of the call requires gradients.
void check_in_place(const char* writer, TensorImpl& written, bool needs_grad);

// Raises if `written` was made in inference mode and the thread is outside it: the change would not be counted.
void check_inference_write(const char* writer, const TensorImpl& written);

// `writer` computed the new content of `view`, whose previous content feeds the writer's edge `self_edge`. Makes
// a CopySlices node the base's history; the view's history follows from it.
void rebase_history(TensorImpl& view, Ref<Node> writer, uint32_t self_edge);

// For a view of a temporary that nothing else holds: it owns the memory and is not a view any more.
void become_base(TensorImpl& view);

}  // namespace pellucid
