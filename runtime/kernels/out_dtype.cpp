#include "kernels/out_dtype.h"

#include <string>

#include "core/error.h"

namespace pellucid {

void require_dtype_of_out(const OpCall& call, DType result, DType out) {
  if (result == out || call.op->variant != Variant::Out || call.op->casts_out) return;
  const std::string needed(name(result)), given(name(out));
  raise(ErrorKind::Runtime,
        "%s(): the result has dtype %s and is not converted, but out= has dtype %s.\n"
        "Give an out= of dtype %s, or convert the result with .to(torch.%s)",
        call.op->schema.name.c_str(), needed.c_str(), given.c_str(), needed.c_str(), given.c_str());
}

}  // namespace pellucid
