// Finds NaN and infinities in tensors, for anomaly mode.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/tensor.h"

namespace pellucid {

struct NonFinite {
  int64_t index;  // of the element, in row-major order
  double value;

  std::string text() const;                                          // "nan", "inf", "-inf"
  std::vector<int64_t> place(std::span<const int64_t> sizes) const;  // the index per dimension
};

// The first NaN (`nan`) or infinity of a floating-point or complex tensor on the CPU.
std::optional<NonFinite> find_non_finite(TensorImpl& tensor, bool nan);

}  // namespace pellucid
