// Copies, fills and reductions of whole tensors that other layers call without an op.
//
// They run below the dispatcher: keys, versions and gradients are ignored unless noted otherwise.
#pragma once

#include "core/tensor.h"
#include "core/value.h"

namespace pellucid {

// Copies every element of `from`, broadcast to the shape of `to` and converted to its dtype. The tensors may
// share the same memory in the same order; the caller must exclude other overlaps.
void copy_elements(TensorImpl& to, TensorImpl& from);
// Sets every element to `number` (an Int, Float, Bool or Complex value), converted as a cast converts.
void fill_elements(TensorImpl& tensor, const Value& number);
// A number as an element of a dtype, and fills with it.
struct Element {
  alignas(16) char bytes[16];
};
Element element_of(DType dtype, const Value& number);
void fill_elements(TensorImpl& tensor, const Element& element);
// Fills `count` contiguous elements of `item` bytes with `element`.
void fill_run(char* to, const char* element, size_t item, int64_t count);

// A new copy: dense in the same dimension order, or row-major.
Tensor clone_elements(TensorImpl& tensor);
Tensor clone_row_major(TensorImpl& tensor);
// The tensor itself if it is row-major, else a copy.
Tensor row_major(TensorImpl& tensor);
// A copy with another dtype, dense in the same dimension order.
Tensor convert_elements(TensorImpl& tensor, DType dtype);

}  // namespace pellucid
