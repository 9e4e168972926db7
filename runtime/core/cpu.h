// CPU feature detection. Compiled for the x86-64 baseline (tools/build.py), because the module's init calls it
// before it may run any other code; therefore neither this file nor cpu.cpp may use the standard library.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pellucid {

// Results of cpuid and xgetbv: registers of leaf 1, leaf 7 and leaf 0x80000001, and the vector state that the
// system saves.
struct CpuWords {
  uint32_t leaf1_ecx = 0;
  uint32_t leaf7_ebx = 0;
  uint32_t leaf7_ecx = 0;
  uint32_t leaf7_1_eax = 0;  // of leaf 7's first subleaf
  uint32_t extended_ecx = 0;
  uint32_t saved_state = 0;  // XCR0; 0 if the system saves no vector state
};
CpuWords this_cpu();

struct CpuLevel {
  bool v3 = false;  // x86-64-v3, the level for which the runtime and its kernels are compiled
  bool v4 = false;
  bool dot = false;   // v4 and dot products of bytes: x86-64-v4-dot
  bool bf16 = false;  // dot and dot products of bfloat16: x86-64-v4-bf16
};
CpuLevel level_of(const CpuWords& cpu);

// Writes why `cpu` cannot run the runtime as a null-terminated sentence. Returns false and writes nothing if it can.
bool explain_unsupported(const CpuWords& cpu, char* text, size_t size);

}  // namespace pellucid
