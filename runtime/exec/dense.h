// Copies and fills that steps need: dense copies of strided values, constants.
#pragma once

#include "core/tensor.h"
#include "exec/plan.h"
#include "kernels/copy.h"

namespace pellucid {

// The tensor itself when it is row-major, otherwise a row-major copy.
Tensor dense(TensorImpl& tensor);
void fill_constant(TensorImpl& tensor, const Constant& constant);

}  // namespace pellucid
