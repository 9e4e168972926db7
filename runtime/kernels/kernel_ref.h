// KernelRef: a compiled kernel by id, resolved on first use: pack, disk cache, compiler, or none.
//
// A kernel is position-independent code with the one signature below; a null function means that
// the caller runs the loop's tile program instead (exec/tile_interpreter.h).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace pellucid {

// data: outputs first. strides in bytes. params: 64-bit slots. Returns 0 or (code << 48 | detail).
using KernelFunction = int64_t (*)(char* const* data, const int64_t* sizes, const int64_t* strides,
                                   const uint64_t* params);
using KernelId = std::array<uint8_t, 16>;

enum class KernelStatus : uint16_t { Ok = 0, IndexOutOfBounds = 1, ZeroDivision = 2, Requirement = 3 };

struct KernelRef {
  KernelId id{};
  std::atomic<KernelFunction> function{nullptr};
  std::atomic<bool> resolved{false};

  KernelFunction get() {
    if (!resolved.load(std::memory_order_acquire)) [[unlikely]] resolve();
    return function.load(std::memory_order_relaxed);
  }
  void resolve();
};

}  // namespace pellucid
