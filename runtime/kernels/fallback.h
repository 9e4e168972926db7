// Fallbacks from a device to the CPU: counted, and warned about or refused if the program wants that.
#pragma once

#include <string>

#include "core/backend.h"

namespace pellucid {

// Called before a kernel of `op` runs on the CPU instead of the device. Raises under FallbackPolicy::Error.
void note_fallback(Backend& backend, const std::string& op, const char* kernel);

}  // namespace pellucid
