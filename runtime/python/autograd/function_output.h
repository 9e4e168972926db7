// What a custom function returned, connected to its node: for Functions of Python and of C++ extensions.
#pragma once

#include "autograd/node.h"
#include "core/tensor.h"

namespace pellucid::python {

struct FunctionOutput {
  uint32_t number;    // among the outputs
  uint32_t argument;  // the edge of the input that it is, if `is_argument`
  bool is_argument;
  bool written;  // in place, and said to be
  bool differentiable;
  bool single;  // the only output
};

// The tensor to return: `output`, or a view of it if it is an input that was not written. `node` may be null if it is
// not differentiable.
Tensor give_history(TensorImpl& output, Ref<Node> node, const FunctionOutput& facts);

}  // namespace pellucid::python
