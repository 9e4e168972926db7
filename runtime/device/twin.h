// The twin: a device of the CPU's own memory that nothing may touch outside of the calls of its Backend.
//
// Its pages are inaccessible but while one of these calls copies. A read or write from elsewhere ends the process with
// the address and the device's name: so code that forgets that memory may be elsewhere is found by running it.
#pragma once

#include <memory>

#include "core/backend.h"

namespace pellucid {

std::unique_ptr<Backend> make_twin(int device_count);

}  // namespace pellucid
