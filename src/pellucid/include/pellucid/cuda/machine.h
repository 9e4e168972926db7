// The thread of a grid that runs on the CPU, and checks of its accesses.
//
// A kernel is compiled with the compiler's instrumentation for races, which calls a function before every access of
// memory that others may see; these functions are ours and tell the emulator (runtime/device/emulated_grid.h). What this
// header defines is not instrumented. That for alignment calls one before an access that GPUs refuse. Read next: words.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "pellucid/cuda/grid_machine.h"

#define PELLUCID_OWN __attribute__((no_sanitize("thread")))
#define PELLUCID_HIDDEN __attribute__((visibility("hidden")))

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
  constexpr dim3(uint3 given) : x(given.x), y(given.y), z(given.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};

namespace pellucid {
namespace cuda {

// The thread that runs; on its own stack.
struct Thread {
  GridMachine* machine;
  uint3 thread, block;
  dim3 threads, blocks;
  size_t shared_bytes;  // of dynamic memory
  const char* top;      // of its stack
};
// The library's own memory, and its variables in shared memory.
struct Places {
  const char *first, *last, *shared, *shared_end;
};
PELLUCID_HIDDEN inline Thread* running = nullptr;  // null outside of kernels; the interpreter's lock guards it
PELLUCID_HIDDEN inline Places places{};
constexpr ptrdiff_t kStackBytes = 28 << 10;

PELLUCID_OWN inline Thread& here() { return *running; }
PELLUCID_OWN inline char* dynamic_shared() { return running->machine->shared; }
PELLUCID_OWN inline unsigned lane() { return static_cast<unsigned>(running->machine->thread % kWarp); }

[[noreturn]] PELLUCID_OWN inline void fail(const char* what) {
  if (running) running->machine->fail(running->machine, what);
  __builtin_trap();
}

PELLUCID_OWN inline bool is_shared(const char* address) {
  const Thread& thread = *running;
  if (address >= places.shared && address < places.shared_end) return true;
  return address >= thread.machine->shared && address < thread.machine->shared + thread.shared_bytes;
}

// Called before an access.
PELLUCID_OWN inline void touch(const void* place, size_t nbytes, bool writes, bool is_atomic = false) {
  if (!running) return;
  Thread& thread = *running;
  const char* const address = static_cast<const char*>(place);
  if (address >= static_cast<const char*>(__builtin_frame_address(0)) && address < thread.top) return;  // its stack
  if (address >= places.first && address < places.last) return;
  char* const at = const_cast<char*>(address);
  const auto size = static_cast<int64_t>(nbytes);
  if (!is_shared(address)) thread.machine->touch(thread.machine, at, size, writes ? kWriteGlobal : kReadGlobal);
  else if (is_atomic) thread.machine->update(thread.machine, at, size);
  else thread.machine->touch(thread.machine, at, size, writes ? kWriteShared : kReadShared);
}

PELLUCID_OWN inline void check_stack() {
  if (running && running->top - static_cast<const char*>(__builtin_frame_address(0)) > kStackBytes)
    fail("has more than 28 KiB of variables and calls on its stack");
}

// What the compiler says of an access whose address is not aligned: where it is, the type, the alignment's logarithm.
struct Unaligned {
  const char* file;
  uint32_t line, column;
  const void* type;
  uint8_t log_alignment;
};

}  // namespace cuda
}  // namespace pellucid

// The functions that instrumented code calls.
#define PELLUCID_HOOK extern "C" PELLUCID_HIDDEN __attribute__((weak)) PELLUCID_OWN
#define PELLUCID_ACCESS(size)                                                                          \
  PELLUCID_HOOK void __tsan_read##size(void* at) { pellucid::cuda::touch(at, size, false); }           \
  PELLUCID_HOOK void __tsan_write##size(void* at) { pellucid::cuda::touch(at, size, true); }           \
  PELLUCID_HOOK void __tsan_unaligned_read##size(void* at) { pellucid::cuda::touch(at, size, false); } \
  PELLUCID_HOOK void __tsan_unaligned_write##size(void* at) { pellucid::cuda::touch(at, size, true); } \
  PELLUCID_HOOK void __tsan_volatile_read##size(void* at) { pellucid::cuda::touch(at, size, false); }  \
  PELLUCID_HOOK void __tsan_volatile_write##size(void* at) { pellucid::cuda::touch(at, size, true); }
PELLUCID_ACCESS(1)
PELLUCID_ACCESS(2)
PELLUCID_ACCESS(4)
PELLUCID_ACCESS(8)
PELLUCID_ACCESS(16)
#undef PELLUCID_ACCESS
PELLUCID_HOOK void __tsan_read_range(void* at, size_t nbytes) { pellucid::cuda::touch(at, nbytes, false); }
PELLUCID_HOOK void __tsan_write_range(void* at, size_t nbytes) { pellucid::cuda::touch(at, nbytes, true); }
PELLUCID_HOOK void __tsan_vptr_update(void** at, void*) { pellucid::cuda::touch(at, sizeof *at, true); }
PELLUCID_HOOK void __tsan_vptr_read(void** at) { pellucid::cuda::touch(at, sizeof *at, false); }
PELLUCID_HOOK void __tsan_func_entry(void*) { pellucid::cuda::check_stack(); }
PELLUCID_HOOK void __tsan_func_exit(void*) {}
PELLUCID_HOOK void __tsan_init() {}
PELLUCID_HOOK void* __tsan_memcpy(void* to, const void* from, size_t nbytes) {
  pellucid::cuda::touch(from, nbytes, false);
  pellucid::cuda::touch(to, nbytes, true);
  return std::memcpy(to, from, nbytes);
}
PELLUCID_HOOK void* __tsan_memset(void* to, int byte, size_t nbytes) {
  pellucid::cuda::touch(to, nbytes, true);
  return std::memset(to, byte, nbytes);
}

PELLUCID_HOOK void __ubsan_handle_type_mismatch_v1(const pellucid::cuda::Unaligned* access, const void*) {
  if (!pellucid::cuda::running) return;  // the host's processor takes it
  char text[64];
  std::snprintf(text, sizeof text, "uses bytes that are not aligned to %d", 1 << access->log_alignment);
  pellucid::cuda::fail(text);
}

// Atomics of the host's code in the same file: counts of references.
#define PELLUCID_FETCH(bits, name)                                                                                    \
  PELLUCID_HOOK uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t* at, uint##bits##_t value, int) { \
    return __atomic_##name(at, value, __ATOMIC_SEQ_CST);                                                              \
  }
#define PELLUCID_ATOMICS(bits)                                                                                        \
  PELLUCID_HOOK uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t* at, int) {                   \
    return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                                     \
  }                                                                                                                   \
  PELLUCID_HOOK void __tsan_atomic##bits##_store(volatile uint##bits##_t* at, uint##bits##_t value, int) {            \
    __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                                                    \
  }                                                                                                                   \
  PELLUCID_HOOK uint##bits##_t __tsan_atomic##bits##_exchange(volatile uint##bits##_t* at, uint##bits##_t value,      \
                                                              int) {                                                  \
    return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                                                          \
  }                                                                                                                   \
  PELLUCID_HOOK int __tsan_atomic##bits##_compare_exchange_strong(volatile uint##bits##_t* at, uint##bits##_t* known, \
                                                                  uint##bits##_t value, int, int) {                   \
    return __atomic_compare_exchange_n(at, known, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                  \
  }                                                                                                                   \
  PELLUCID_HOOK int __tsan_atomic##bits##_compare_exchange_weak(volatile uint##bits##_t* at, uint##bits##_t* known,   \
                                                                uint##bits##_t value, int, int) {                     \
    return __atomic_compare_exchange_n(at, known, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                  \
  }                                                                                                                   \
  PELLUCID_FETCH(bits, fetch_add)                                                                                     \
  PELLUCID_FETCH(bits, fetch_sub)                                                                                     \
  PELLUCID_FETCH(bits, fetch_and)                                                                                     \
  PELLUCID_FETCH(bits, fetch_or)                                                                                      \
  PELLUCID_FETCH(bits, fetch_xor)
PELLUCID_ATOMICS(8)
PELLUCID_ATOMICS(16)
PELLUCID_ATOMICS(32)
PELLUCID_ATOMICS(64)
#undef PELLUCID_ATOMICS
#undef PELLUCID_FETCH
#undef PELLUCID_HOOK
