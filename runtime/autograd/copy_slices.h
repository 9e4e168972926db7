// CopySlices: the node of a base tensor after a write through one of its views.
//
// The gradient of the base passes through outside the view; inside it is what the writing op's node
// makes of it.
#pragma once

#include <span>

#include "autograd/node.h"

namespace pellucid {

// Edges: those of `writer`, with the one that led to the view's old content leading to the base's.
// `writer` must be new, with nobody else holding it.
Ref<Node> make_copy_slices(TensorImpl& base, TensorImpl& view, Ref<Node> writer, uint32_t self_edge);

// A copy with this geometry of a tensor inside a function transform: each example and each tangent has it.
// Installed by transforms/.
extern Tensor (*copy_of_wrapped)(TensorImpl& tensor, std::span<const int64_t> sizes, std::span<const int64_t> strides);

}  // namespace pellucid
