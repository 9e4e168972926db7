#include "kernels/out_dtype.h"

#include <string>

#include "core/error.h"

namespace pellucid {

void raise_unconverted(const OpCall& call, DType result, DType written) {
  const std::string needed(name(result)), given(name(written));
  if (call.op->variant == Variant::InPlace)
    raise(ErrorKind::Runtime,
          "%s(): the result has dtype %s and is not converted to %s of the tensor that it is written to.\n"
          "Call the function without underscore, which returns a tensor of dtype %s",
          call.op->schema.name.c_str(), needed.c_str(), given.c_str(), needed.c_str());
  raise(ErrorKind::Runtime,
        "%s(): the result has dtype %s and is not converted, but out= has dtype %s.\n"
        "Give an out= of dtype %s, or convert the result with .to(torch.%s)",
        call.op->schema.name.c_str(), needed.c_str(), given.c_str(), needed.c_str(), given.c_str());
}

}  // namespace pellucid
