// What this processor and its system can run. Compiled for the x86-64 baseline (tools/build.py), since the
// module's init asks it before it may run anything else; so neither file may use the standard library.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pellucid {

// What cpuid and xgetbv answer: registers of leaf 1, leaf 7 and leaf 0x80000001, and the saved vector state.
struct CpuWords {
  uint32_t leaf1_ecx = 0;
  uint32_t leaf7_ebx = 0;
  uint32_t leaf7_ecx = 0;
  uint32_t leaf7_1_eax = 0;  // of its first subleaf
  uint32_t extended_ecx = 0;
  uint32_t saved_state = 0;  // XCR0; 0 where the system saves no vector state
};
CpuWords this_cpu();

struct CpuLevel {
  bool v3 = false;  // x86-64-v3, for which the runtime and its kernels are compiled
  bool v4 = false;
  bool dot = false;   // v4 and sums of products of bytes: x86-64-v4-dot
  bool bf16 = false;  // dot and those of bfloat16: x86-64-v4-bf16
};
CpuLevel level_of(const CpuWords& cpu);

// Writes why `cpu` cannot run the runtime, as a sentence that ends with a null character; nothing and false
// where it can.
bool explain_unsupported(const CpuWords& cpu, char* text, size_t size);

}  // namespace pellucid
