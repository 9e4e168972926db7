// Device types of C++ extensions (pellucid/device.h).
#pragma once

#include "python/object.h"  // defines what Python.h must see first

#include "pellucid/extension.h"

namespace pellucid::python {

// Raises what add_backend raises, and Value errors of a table that asks for what does not exist.
void add_extension_device(const extension::DeviceTable& table);
// Whether launches are passed to the logs of pellucid.devices.trace().
void trace_extension_devices(bool enabled);
// The text of a kernel's definition, which lives forever; "" if nothing defines it.
const char* extension_kernel_text(const uint8_t* kernel_id);

}  // namespace pellucid::python
