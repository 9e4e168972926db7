#include "kernels/kernel_ref.h"

#include <string>

#include "core/error.h"
#include "kernels/pack.h"
#include "timeline/recorder.h"

namespace pellucid {
namespace {

std::atomic<KernelResolver> kernel_resolver{nullptr};
std::atomic<ProgramInterpreter> program_interpreter{nullptr};

std::string hexadecimal(const KernelId& id) {
  std::string text;
  for (const uint8_t byte : id)
    for (const int nibble : {byte >> 4, byte & 15}) text += "0123456789abcdef"[nibble];
  return text;
}

}  // namespace

void raise_outside_operand(const char* op, int64_t status) {
  constexpr int kBits = kOutsideBits;
  const int64_t detail = status_detail(status), operand = detail >> 2 * kBits;
  const int64_t element = static_cast<int64_t>(static_cast<uint64_t>(detail) << (64 - 2 * kBits)) >> (64 - kBits);
  raise(
      ErrorKind::Runtime,
      "%s: a kernel touched element %lld of operand %lld (results come first), which has %lld elements in this call.\n"
      "Checked mode stopped it before the memory was read or written. This is a fault of pellucid; please report it",
      op, static_cast<long long>(element), static_cast<long long>(operand),
      static_cast<long long>(detail & ((int64_t{1} << kBits) - 1)));
}

void set_kernel_resolver(KernelResolver resolver) { kernel_resolver.store(resolver, std::memory_order_release); }
void set_program_interpreter(ProgramInterpreter interpreter) {
  program_interpreter.store(interpreter, std::memory_order_release);
}

// Two threads may resolve concurrently; they find the same function.
void KernelRef::resolve() {
  const TextScope event(EventKind::Prepare, "find kernel");
  KernelFunction found = find_in_packs(id);
  if (!found)
    if (KernelResolver ask = kernel_resolver.load(std::memory_order_acquire)) found = ask(id);
  function.store(found, std::memory_order_relaxed);
  resolved.store(true, std::memory_order_release);
}

int64_t KernelRef::interpret(char* const* data, const int64_t* sizes, const int64_t* strides, const uint64_t* params) {
  ProgramInterpreter run_program = program_interpreter.load(std::memory_order_acquire);
  if (!run_program || !program)
    raise(ErrorKind::Runtime, "kernel %s is in no pack and has no program to interpret; rebuild the kernel pack",
          hexadecimal(id).c_str());
  return run_program(program.get(), data, sizes, strides, params);
}

}  // namespace pellucid
