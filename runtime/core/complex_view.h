// Complex tensors viewed as real ones with a last dimension of size 2, and the reverse.
#pragma once

#include "core/tensor.h"

namespace pellucid {

inline bool is_complex(DType dtype) { return category(dtype) == DTypeCategory::Complex; }
DType real_dtype(DType dtype);     // of the parts of a complex dtype
DType complex_dtype(DType dtype);  // the complex dtype with parts of this dtype

// A view of the same memory under the other dtype; raises if the geometry does not allow it. `detached` as in
// make_view.
Tensor view_as_real(TensorImpl& tensor, bool detached);
Tensor view_as_complex(TensorImpl& tensor, bool detached);

}  // namespace pellucid
