// Device types of C++ extensions (pellucid/device.h).
#pragma once

#include "python/object.h"  // defines what Python.h must see first

#include "core/storage.h"
#include "pellucid/extension.h"

namespace pellucid::python {

// Raises what add_backend raises, and Value errors of a table that asks for what does not exist.
void add_extension_device(const extension::DeviceTable& table);
// Whether launches are passed to the logs of pellucid.devices.trace().
void trace_extension_devices(bool enabled);
bool launches_are_traced();
// Adds to these logs a step that a device of C++ was offered, and one that the CPU ran.
void log_extension_launch(const char* op, const uint8_t* kernel_id, Device device, bool is_declined);
void log_extension_fallback(const char* device_name, const std::string& op, const char* kernel);
// Adds an op that a library of the device ran as a whole.
void log_extension_op(const std::string& op, const char* library, Device device);
// The text of a kernel's definition, which lives forever; "" if nothing defines it.
const char* extension_kernel_text(const uint8_t* kernel_id);

}  // namespace pellucid::python
