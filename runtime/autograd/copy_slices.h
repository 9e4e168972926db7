// CopySlices: the node of a base tensor after a write through one of its views.
//
// Outside the view the base's gradient passes through unchanged; inside, the writing op's node computes it.
#pragma once

#include <span>

#include "autograd/node.h"

namespace pellucid {

// Its edges are those of `writer`, except that the edge to the view's old content leads to the base's. `writer`
// must be new and not shared.
Ref<Node> make_copy_slices(TensorImpl& base, TensorImpl& view, Ref<Node> writer, uint32_t self_edge);

// A copy with this geometry of a tensor inside a function transform, in which every example and every tangent has
// the geometry. Installed by transforms/.
extern Tensor (*copy_of_wrapped)(TensorImpl& tensor, std::span<const int64_t> sizes, std::span<const int64_t> strides);

}  // namespace pellucid
