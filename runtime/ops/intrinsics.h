// Ops that C++ carries out: the frozen file declares them, a generated table has their kernels (module/intrinsic_kernels.h).
#pragma once

#include <span>
#include <string_view>

#include "core/op_record.h"
#include "plan/records.h"

namespace pellucid {

struct Intrinsic {
  std::string_view name;  // "split.Tensor"; of another namespace "python::to"
  BoxedKernel kernel;
};

// Defines the declared intrinsics with these kernels; once, when the op table is loaded. Raises if an op is declared
// without a kernel or the other way round.
void define_intrinsics(std::span<const encoded::IntrinsicRow> declared, std::span<const Intrinsic> kernels);

}  // namespace pellucid
