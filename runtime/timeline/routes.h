// Which driver ran a matrix product or convolution (products/contraction.h), as steps tell it in `detail`: contractions
// note it, and prepared calls (plan/prepared.h), which start kernels without them.
#pragma once

#include <cstdint>

#include "timeline/watch.h"

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

void write_route(ProductRoute route);

// Tells the step's event in the timeline which driver ran.
inline void note_route(ProductRoute route) {
  if (is_watched(kWatchSteps)) [[unlikely]]
    write_route(route);
}

}  // namespace pellucid
