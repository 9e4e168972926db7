// Process-wide defaults that factories and promotion read.
#pragma once

#include <atomic>

#include "core/dtype.h"

namespace pellucid {

// The dtype of factories called without a dtype, and of floating-point results computed from integers.
extern std::atomic<DType> default_dtype_setting;
inline DType default_dtype() { return default_dtype_setting.load(std::memory_order_relaxed); }
inline void set_default_dtype(DType dtype) { default_dtype_setting.store(dtype, std::memory_order_relaxed); }
// The complex dtype whose parts have the default dtype.
inline DType default_complex_dtype() { return facts_of(default_dtype()).complex; }

}  // namespace pellucid
