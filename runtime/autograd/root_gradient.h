// The gradients of a pass's roots.
#pragma once

#include "autograd/engine.h"

namespace pellucid {

// The gradient of root `number`: `given`, checked and fitted to the root, or one if it is null.
Tensor root_gradient(const Target& root, const Tensor& given, size_t number);

}  // namespace pellucid
