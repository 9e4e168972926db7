// Names of device types, including the name that a user-defined backend chooses for itself.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/storage.h"

namespace pellucid {

// "cuda"; for a user-defined backend the name it chose, or "privateuseone" and the like until it has one.
std::string device_type_name(DeviceType type);
std::string device_name(Device device);  // with its index: "cuda:1"
std::optional<DeviceType> find_device_type(std::string_view name);
// "cuda:1"; raises a Runtime error for what names no device.
Device parse_device(std::string_view text);
// All names in PyTorch's order, comma-separated.
std::string device_type_names();

// Names a user-defined backend, PrivateUse to PrivateUse3. Raises a Runtime error for a second name, or for a
// name that another type has.
void name_user_backend(std::string_view name, DeviceType type = DeviceType::PrivateUse);
bool is_user_device(DeviceType type);
// The first of the three user types that has no name; nullopt if all have one.
std::optional<DeviceType> unnamed_user_device();

}  // namespace pellucid
