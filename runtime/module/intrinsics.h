// The kernels of the ops that C++ carries out, by the names under which the catalogue declares them.
#pragma once

#include <span>

#include "ops/intrinsics.h"

namespace pellucid {

std::span<const Intrinsic> intrinsic_kernels();

}  // namespace pellucid
