// What a device could not launch: counted, and refused or warned of where the program wants it so.
#pragma once

#include <string>

#include "core/backend.h"

namespace pellucid {

// Before a kernel of `op` runs on the CPU in the device's place. Raises under FallbackPolicy::Error.
void note_fallback(Backend& backend, const std::string& op, const char* kernel);

}  // namespace pellucid
