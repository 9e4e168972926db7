// Names of types of devices, and the one that a user's backend chose for itself.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/storage.h"

namespace pellucid {

// "cuda"; of a user's backend the name it chose, "privateuseone" and its like before.
std::string device_type_name(DeviceType type);
std::string device_name(Device device);  // with its index: "cuda:1"
std::optional<DeviceType> find_device_type(std::string_view name);
// All names in PyTorch's order, separated by commas.
std::string device_type_names();

// Names a user's backend, PrivateUse to PrivateUse3; Runtime error for a second name, or for one of another type.
void name_user_backend(std::string_view name, DeviceType type = DeviceType::PrivateUse);
bool is_user_device(DeviceType type);
// Of the three the first without a name; empty: all have one.
std::optional<DeviceType> unnamed_user_device();

}  // namespace pellucid
