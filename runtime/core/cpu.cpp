#include "core/cpu.h"

#include <cpuid.h>

namespace pellucid {
namespace {

struct Feature {
  const char* name;
  uint32_t CpuWords::* word;
  uint32_t bit;
};

// Beyond the baseline. Every processor with AVX2 also has SSE4.2 and POPCNT.
constexpr Feature kLevel3[] = {
    {"AVX", &CpuWords::leaf1_ecx, 28},   {"AVX2", &CpuWords::leaf7_ebx, 5},     {"FMA", &CpuWords::leaf1_ecx, 12},
    {"BMI1", &CpuWords::leaf7_ebx, 3},   {"BMI2", &CpuWords::leaf7_ebx, 8},     {"F16C", &CpuWords::leaf1_ecx, 29},
    {"MOVBE", &CpuWords::leaf1_ecx, 22}, {"LZCNT", &CpuWords::extended_ecx, 5},
};
constexpr Feature kLevel4[] = {
    {"AVX512F", &CpuWords::leaf7_ebx, 16},  {"AVX512DQ", &CpuWords::leaf7_ebx, 17},
    {"AVX512CD", &CpuWords::leaf7_ebx, 28}, {"AVX512BW", &CpuWords::leaf7_ebx, 30},
    {"AVX512VL", &CpuWords::leaf7_ebx, 31},
};
constexpr Feature kDots = {"AVX512_VNNI", &CpuWords::leaf7_ecx, 11};
constexpr Feature kBfloat16Dots = {"AVX512_BF16", &CpuWords::leaf7_1_eax, 5};
constexpr uint32_t kOsxsave = uint32_t{1} << 27;  // of leaf1_ecx: xgetbv is available
constexpr uint32_t kYmmState = 0x6, kZmmState = 0xE6;

bool has(const CpuWords& cpu, const Feature& feature) { return cpu.*feature.word >> feature.bit & 1; }

template <size_t N>
bool has_all(const CpuWords& cpu, const Feature (&features)[N]) {
  for (const Feature& feature : features)
    if (!has(cpu, feature)) return false;
  return true;
}

bool saves(const CpuWords& cpu, uint32_t state) { return (cpu.saved_state & state) == state; }

// Appends to a buffer of fixed size; truncates what does not fit.
struct Text {
  char* next;
  const char* const end;
  void add(const char* words) {
    while (*words && next + 1 < end) *next++ = *words++;
    *next = 0;
  }
};

}  // namespace

CpuWords this_cpu() {
  CpuWords cpu;
  uint32_t eax, ebx, ecx, edx;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx)) cpu.leaf1_ecx = ecx;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) cpu.leaf7_ebx = ebx, cpu.leaf7_ecx = ecx;
  if (__get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx)) cpu.leaf7_1_eax = eax;
  if (__get_cpuid(0x80000001, &eax, &ebx, &ecx, &edx)) cpu.extended_ecx = ecx;
  if (cpu.leaf1_ecx & kOsxsave) __asm__("xgetbv" : "=a"(cpu.saved_state), "=d"(edx) : "c"(0));
  return cpu;
}

CpuLevel level_of(const CpuWords& cpu) {
  CpuLevel level;
  level.v3 = has_all(cpu, kLevel3) && saves(cpu, kYmmState);
  level.v4 = level.v3 && has_all(cpu, kLevel4) && saves(cpu, kZmmState);
  level.dot = level.v4 && has(cpu, kDots);
  level.bf16 = level.dot && has(cpu, kBfloat16Dots);
  return level;
}

bool explain_unsupported(const CpuWords& cpu, char* text, size_t size) {
  if (size == 0 || level_of(cpu).v3) return false;
  Text out{text, text + size};
  if (has_all(cpu, kLevel3)) {
    out.add("this processor has AVX2, but the system does not save its registers");
  } else {
    out.add("this processor lacks ");
    bool first = true;
    for (const Feature& feature : kLevel3) {
      if (has(cpu, feature)) continue;
      if (!first) out.add(", ");
      out.add(feature.name);
      first = false;
    }
  }
  out.add(
      ": pellucid needs an x86-64-v3 processor (Intel since Haswell, 2013; AMD since Excavator, 2015) and, in a "
      "virtual machine, one whose features are passed through");
  return true;
}

}  // namespace pellucid
