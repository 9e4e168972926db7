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
struct ProductRouteText {
  const char *name, *reason;
};
inline constexpr ProductRouteText kProductRouteTexts[] = {
    {"", ""},
    {"in place", "the operands are read as they are: too small to be worth packing, or contiguous along the sums"},
    {"single row", "one row: a matrix times a vector"},
    {"channel lanes", "one row for each channel, channels last: a lane computes a channel"},
    {"Winograd", "3x3 windows at every place and enough channels: 16 products instead of 36"},
    {"shared windows", "the gradient of weights: neighbouring windows share the elements of a panel"},
    {"padded image", "windows are read from a padded copy of the image, which costs less than packing them"},
    {"pixels", "channels last: lines of pixels are read where they are"},
    {"panels", "large enough to pack both operands into panels that fit the caches"}};

void write_route(ProductRoute route);

// Notes the driver in the timeline event of the running step.
inline void note_route(ProductRoute route) {
  if (is_watched(kWatchSteps)) [[unlikely]]
    write_route(route);
}

}  // namespace pellucid
