// Views and in-place writes: how a write through a view becomes part of the base's history.
//
// A view's node is only as good as its version: after a write through another view or the base, the
// view's history is that of `as_strided` applied to the base as it is now.
#pragma once

#include "autograd/node.h"
#include "core/tensor.h"

namespace pellucid {

// The node of a view, rebuilt when memory changed since; null when the view counts as a leaf.
Node* view_grad_fn(TensorImpl& view);

// Raises when writing `written` with gradients being recorded is an error: a leaf or a view of one,
// or a view whose making forbids it. `writer` names the op. `needs_grad`: some argument of the call requires gradients.
void check_in_place(const char* writer, TensorImpl& written, bool needs_grad);

// Raises when `written` was made in inference mode and this is outside: nobody would count the change.
void check_inference_write(const char* writer, const TensorImpl& written);

// `writer` computed the new content of `view`, whose previous content feeds the writer's edge
// `self_edge`: the base's history becomes a CopySlices node, the view's follows from it.
void rebase_history(TensorImpl& view, Ref<Node> writer, uint32_t self_edge);

}  // namespace pellucid
