#include <cstring>
#include <string>

#include "../sanitizers/check.h"
#include "core/cpu.h"

namespace {

using namespace pellucid;

constexpr uint32_t bit(int number) { return uint32_t{1} << number; }

// Haswell, under a system that saves YMM registers.
CpuWords haswell() {
  CpuWords cpu;
  cpu.leaf1_ecx = bit(12) | bit(22) | bit(27) | bit(28) | bit(29);  // FMA, MOVBE, OSXSAVE, AVX, F16C
  cpu.leaf7_ebx = bit(3) | bit(5) | bit(8);                         // BMI1, AVX2, BMI2
  cpu.extended_ecx = bit(5);                                        // LZCNT
  cpu.saved_state = 0x7;
  return cpu;
}

CpuWords skylake_server() {
  CpuWords cpu = haswell();
  cpu.leaf7_ebx |= bit(16) | bit(17) | bit(28) | bit(30) | bit(31);
  cpu.saved_state = 0xE7;
  return cpu;
}

std::string explanation(const CpuWords& cpu) {
  char text[400] = "";
  return explain_unsupported(cpu, text, sizeof text) ? text : "";
}

TEST(levels_follow_features_and_saved_registers) {
  CHECK(level_of(haswell()).v3 && !level_of(haswell()).v4);
  CHECK(level_of(skylake_server()).v4);
  CpuWords cpu = skylake_server();
  CHECK(!level_of(cpu).dot);
  cpu.leaf7_ecx |= bit(11);
  CHECK(level_of(cpu).dot && !level_of(cpu).bf16);
  cpu.leaf7_1_eax |= bit(5);
  CHECK(level_of(cpu).bf16);
  cpu.saved_state = 0x7;  // the system saves no ZMM registers
  CHECK(level_of(cpu).v3 && !level_of(cpu).v4 && !level_of(cpu).dot && !level_of(cpu).bf16);
  cpu.leaf7_ebx &= ~bit(5);
  CHECK(!level_of(cpu).v3);
}

TEST(each_missing_feature_is_named) {
  CHECK(explanation(haswell()).empty());
  CpuWords cpu = haswell();
  cpu.leaf7_ebx &= ~bit(8);
  CHECK(explanation(cpu).starts_with("this processor lacks BMI2: pellucid needs an x86-64-v3 processor"));
  cpu.extended_ecx = 0;
  CHECK(explanation(cpu).starts_with("this processor lacks BMI2, LZCNT: "));
  CHECK(explanation({}).starts_with("this processor lacks AVX, AVX2, FMA, BMI1, BMI2, F16C, MOVBE, LZCNT: "));
}

TEST(a_system_that_saves_no_vector_registers_is_named) {
  CpuWords cpu = haswell();
  cpu.saved_state = 0x3;
  CHECK(explanation(cpu).starts_with("this processor has AVX2, but the system does not save its registers: "));
}

TEST(an_explanation_fits_its_memory) {
  char text[20];
  std::memset(text, 'x', sizeof text);
  CHECK(explain_unsupported({}, text, 10));
  CHECK(std::string(text) == "this proc");
  CHECK(text[10] == 'x');
}

TEST(this_processor_runs_the_runtime) { CHECK(explanation(this_cpu()).empty()); }

}  // namespace
