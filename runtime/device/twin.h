// The twin: a device in the CPU's own memory that nothing may access outside the calls of its Backend.
//
// Its pages are accessible only while one of these calls copies. Any other read or write ends the process with
// the address and the device's name, so that running code finds places that assume CPU memory.
#pragma once

#include <memory>

#include "core/backend.h"

namespace pellucid {

std::unique_ptr<Backend> make_twin(int device_count);

}  // namespace pellucid
