// Ops implemented in C++: the frozen file declares them, and a generated table has their kernels
// (module/intrinsic_kernels.h).
#pragma once

#include <span>
#include <string_view>

#include "core/op_record.h"
#include "plan/records.h"

namespace pellucid {

struct Intrinsic {
  std::string_view name;  // "split.Tensor"; with another namespace "python::to"
  BoxedKernel kernel;
};

// Defines the declared intrinsics with these kernels; called once, when the op table is loaded. Raises if an op
// is declared without a kernel, or a kernel has no declaration.
void define_intrinsics(std::span<const encoded::IntrinsicRow> declared, std::span<const Intrinsic> kernels);

}  // namespace pellucid
