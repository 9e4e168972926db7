// view_as_real and view_as_complex: the same memory under the other dtype.
#include "core/complex_view.h"
#include "intrinsics/kernels.h"

namespace pellucid::intrinsics {

void view_as_real(OpCall& call, void*) {
  call.rets[0] = Value::of(pellucid::view_as_real(*call.args[0].tensor, false).leak());
}

void view_as_complex(OpCall& call, void*) {
  call.rets[0] = Value::of(pellucid::view_as_complex(*call.args[0].tensor, false).leak());
}

}  // namespace pellucid::intrinsics
