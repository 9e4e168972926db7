// Copies, fills and reductions of whole tensors that other layers call without an op.
//
// They run below the dispatcher: no key, version or gradient is looked at, but for what is said.
#pragma once

#include "core/tensor.h"
#include "core/value.h"

namespace pellucid {

// Every element of `from`, broadcast to the shape of `to` and converted to its dtype. The tensors
// may be the same memory in the same order; other overlaps are the caller's to exclude.
void copy_elements(TensorImpl& to, TensorImpl& from);
// `number` (an Int, Float, Bool or Complex value) in every element, converted as a cast converts.
void fill_elements(TensorImpl& tensor, const Value& number);
// A number as an element of a dtype, and the fill with it.
struct Element {
  alignas(16) char bytes[16];
};
Element element_of(DType dtype, const Value& number);
void fill_elements(TensorImpl& tensor, const Element& element);

// A fresh copy: dense in the same dimension order, or row-major.
Tensor clone_elements(TensorImpl& tensor);
Tensor clone_row_major(TensorImpl& tensor);
// The tensor itself when it is row-major already, else a copy.
Tensor row_major(TensorImpl& tensor);
// A copy of another dtype, dense in the same dimension order.
Tensor convert_elements(TensorImpl& tensor, DType dtype);

}  // namespace pellucid
