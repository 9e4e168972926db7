// Which driver ran a matrix product or convolution (products/contraction.h), as steps tell it in `detail`.
#pragma once

#include <cstdint>

namespace pellucid {

enum class ProductRoute : uint16_t {
  None,
  InPlace,
  SingleRow,
  ChannelLanes,
  Winograd,
  SharedWindows,
  PaddedImage,
  Pixels,
  Panels
};
inline constexpr const char* kProductRouteNames[] = {
    "", "in place", "single row", "channel lanes", "Winograd", "shared windows", "padded image", "pixels", "panels"};

}  // namespace pellucid
