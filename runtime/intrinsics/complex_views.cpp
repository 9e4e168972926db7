// Views of complex tensors: their conjugates, and the same memory under the other dtype; negatives of any tensor.
#include "core/complex_view.h"

#include "core/pending.h"
#include "intrinsics/give.h"
#include "intrinsics/kernels.h"

namespace pellucid::intrinsics {

void conj_view(OpCall& call, void*) {
  TensorImpl& self = *call.args[0].tensor;
  if (category(self.dtype) != DTypeCategory::Complex)
    raise(ErrorKind::Runtime, "_conj takes a complex tensor, not one of %s", std::string(name(self.dtype)).c_str());
  give(call, toggled(self, Key::Conjugate, false));
}

void neg_view(OpCall& call, void*) { give(call, toggled(*call.args[0].tensor, Key::Negative, false)); }

void view_as_real(OpCall& call, void*) {
  TensorImpl& self = *call.args[0].tensor;
  if (self.keys.has(Key::Conjugate))
    raise(ErrorKind::Runtime,
          "view_as_real: the imaginary parts of an unresolved conjugated tensor are not in memory.\n"
          "Use view_as_real(x.resolve_conj()), which has memory of its own, or x.real and x.imag.");
  give(call, pellucid::view_as_real(self, false));
}

void view_as_complex(OpCall& call, void*) { give(call, pellucid::view_as_complex(*call.args[0].tensor, false)); }

}  // namespace pellucid::intrinsics
