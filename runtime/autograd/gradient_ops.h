// The few operations on gradients that the engine itself performs, as calls of ops.
//
// They go through the dispatcher, so that they are recorded under create_graph and run on any device. Besides
// library calls, these are the only ops that the runtime names: adding, reducing, casting and copying a gradient
// are part of differentiation, not of any op.
#pragma once

#include "autograd/node.h"
#include "core/tensor.h"

namespace pellucid {

Tensor add(TensorImpl& a, TensorImpl& b);
void add_into(TensorImpl& sum, TensorImpl& summand);
Tensor clone(TensorImpl& tensor);
void copy_into(TensorImpl& destination, TensorImpl& source);
Tensor as_strided(TensorImpl& tensor, std::span<const int64_t> sizes, std::span<const int64_t> strides, int64_t offset);
Tensor zeros(const GradientInfo& info);
Tensor repeated_zero(const GradientInfo& info);  // the same, as one element broadcast; read-only
Tensor one_like(const GradientInfo& info);       // for a tensor of one element
Tensor one_like(TensorImpl& watched);            // through the op, so that modes and subclasses see it
// Whether dispatch modes or subclasses see an op on tensors with these keys.
bool dispatches_to_python(KeySet keys);
// An alias without history; for watched tensors through the op, so that modes and subclasses see it.
Tensor detached(TensorImpl& tensor);

// Whether releasing `tensor` would free its memory: then it may be modified or given away.
bool owns_memory_alone(const TensorImpl& tensor);
void forget_base(TensorImpl& tensor);  // makes a view an ordinary tensor of its storage

// `grad` with the shape, dtype and device of `info`: broadcast dimensions are summed. Raises if that is
// impossible, naming `source` (may be null) as the node that returned the gradient.
Tensor fit_gradient(Tensor grad, const GradientInfo& info, const Node* source, uint32_t edge);
inline bool fits(const TensorImpl& grad, const GradientInfo& info) {
  if (grad.dtype != info.dtype || grad.ndim != info.ndim || grad.device != info.device) return false;
  for (int i = 0; i < info.ndim; ++i)
    if (grad.sizes[i] != info.sizes[i]) return false;
  return true;
}

}  // namespace pellucid
