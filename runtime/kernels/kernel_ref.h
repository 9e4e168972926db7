// KernelRef: a compiled kernel by id, resolved at first use: from the pack, else by the installed resolver (disk
// cache, compiler). A missing kernel is slow, never an error: `run` then interprets the kernel's tile program.
//
// A kernel is position-independent code with the signature below (the contract of the pack).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "abi/codes.h"
#include "abi/limits.h"
#include "core/launch.h"
#include "core/thread_state.h"

namespace pellucid {

// data: outputs first. strides: in bytes. params: 64-bit slots. Returns 0 or a status: (code << kStatusShift | detail).
using KernelFunction = int64_t (*)(char* const* data, const int64_t* sizes, const int64_t* strides,
                                   const uint64_t* params);
using KernelId = std::array<uint8_t, kKernelIdBytes>;

constexpr KernelStatus status_code(int64_t status) {
  return static_cast<KernelStatus>(static_cast<uint64_t>(status) >> kStatusShift);
}
constexpr int64_t status_of(KernelStatus code, int64_t detail) {
  return static_cast<int64_t>(static_cast<uint64_t>(code) << kStatusShift) | detail;
}
constexpr int64_t status_detail(int64_t status) { return status & ((int64_t{1} << kStatusShift) - 1); }
// For the status OutsideOperand, which only kernels of checked mode return (codegen/checked.py): reports what was
// accessed.
[[noreturn]] void raise_outside_operand(const char* op, int64_t status);

struct KernelRef {
  KernelId id{};
  std::atomic<KernelFunction> function{nullptr};
  std::atomic<bool> resolved{false};
  std::shared_ptr<void> program;  // the tile program (plan/), for use without machine code

  // Null if neither pack nor resolver has the kernel. The first call may run Python, so drivers make it before
  // they distribute work to threads.
  KernelFunction get() {
    if (!resolved.load(std::memory_order_acquire)) [[unlikely]]
      resolve();
    return function.load(std::memory_order_relaxed);
  }
  int64_t run(char* const* data, const int64_t* sizes, const int64_t* strides, const uint64_t* params) {
    if (thread_state.launch_recorder) [[unlikely]]
      thread_state.launch_recorder->launch(*this, data, sizes, strides, params);
    if (KernelFunction code = get()) [[likely]]
      return code(data, sizes, strides, params);
    return interpret(data, sizes, strides, params);
  }
  void resolve();
  int64_t interpret(char* const* data, const int64_t* sizes, const int64_t* strides, const uint64_t* params);
};

// Called for kernels that the pack lacks; may return null. Thread-safe.
using KernelResolver = KernelFunction (*)(const KernelId& id);
void set_kernel_resolver(KernelResolver resolver);

// Runs a tile program as if it were the kernel; installed by plan/.
using ProgramInterpreter = int64_t (*)(void* program, char* const* data, const int64_t* sizes, const int64_t* strides,
                                       const uint64_t* params);
void set_program_interpreter(ProgramInterpreter interpreter);

}  // namespace pellucid
