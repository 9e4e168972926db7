// Layout, memory format, and devices encoded in a Value's integer.
#pragma once

#include <cstdint>

#include "core/storage.h"

namespace pellucid {

// Both in PyTorch's order: schemas have their numbers as defaults.
enum class Layout : uint8_t { Strided, SparseCoo, SparseCsr, Mkldnn, SparseCsc, SparseBsr, SparseBsc, Jagged };
constexpr bool is_sparse(Layout layout) {
  return layout != Layout::Strided && layout != Layout::Mkldnn && layout != Layout::Jagged;
}
enum class MemoryFormat : uint8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };

constexpr int64_t encode_device(Device device) {
  return static_cast<int64_t>(device.type) << 8 | static_cast<uint8_t>(device.index);
}
constexpr Device decode_device(int64_t code) {
  return {static_cast<DeviceType>(code >> 8), static_cast<int8_t>(code & 0xFF)};
}

}  // namespace pellucid
