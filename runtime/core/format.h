// Text of sizes and dtypes for messages, as Python users write them: "[2, 3]".
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/dtype.h"

namespace pellucid {

std::string format_sizes(std::span<const int64_t> sizes);
// The dtype's name in PyTorch's messages: "Float", "Long", "Bool".
const char* type_word(DType dtype);

}  // namespace pellucid
