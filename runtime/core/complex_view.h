// Complex tensors seen as real ones with a last dimension of size 2, and the reverse.
#pragma once

#include "core/tensor.h"

namespace pellucid {

DType real_dtype(DType dtype);     // of the parts of a complex dtype
DType complex_dtype(DType dtype);  // whose parts have this dtype

// The same memory under the other dtype; raises where the geometry does not allow it. `detached` as in make_view.
Tensor view_as_real(TensorImpl& tensor, bool detached);
Tensor view_as_complex(TensorImpl& tensor, bool detached);

}  // namespace pellucid
