#include "core/defaults.h"

namespace pellucid {

std::atomic<DType> default_dtype_setting{DType::Float32};

}  // namespace pellucid
