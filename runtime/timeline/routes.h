// Which driver ran a matrix product or convolution (products/contraction.h), stored in a step's `detail`.
// Contractions note it, and so do prepared calls (plan/prepared.h), which launch kernels without them.
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

// Notes the driver in the timeline event of the running step.
inline void note_route(ProductRoute route) {
  if (is_watched(kWatchSteps)) [[unlikely]]
    write_route(route);
}

}  // namespace pellucid
