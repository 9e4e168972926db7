// Names of types of devices, and the one that a user's backend chose for itself.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/storage.h"

namespace pellucid {

// "cuda"; of the user's backend the name it chose, "privateuseone" before.
std::string device_type_name(DeviceType type);
std::optional<DeviceType> find_device_type(std::string_view name);
// All names in PyTorch's order, separated by commas.
std::string device_type_names();

// Names the user's backend; Runtime error for a second name, or for one of another type.
void name_user_backend(std::string_view name);

}  // namespace pellucid
