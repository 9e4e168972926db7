#include "plan/library.h"

#include <map>
#include <string>
#include <vector>

#include "core/error.h"
#include "kernels/copy.h"

namespace pellucid {

namespace {

std::map<std::string, LibraryRoutine, std::less<>>& routines() {
  static auto* made = new std::map<std::string, LibraryRoutine, std::less<>>;
  return *made;
}

}  // namespace

LibraryRoutine library_fallback = nullptr;

void register_library_routine(std::string_view name, LibraryRoutine routine) {
  routines()[std::string(name)] = routine;
}

const Constant* LibraryCall::option(std::string_view name) const {
  for (const auto& [known, value] : step.options)
    if (known == name) return &value;
  return nullptr;
}

std::string_view LibraryCall::text(std::string_view name) const {
  for (size_t k = 0; k < step.options.size(); ++k)
    if (step.options[k].first == name) return step.texts[k];
  return {};
}

void run_library_step(Frame& frame, const Step& step) {
  const auto found = routines().find(step.name);
  const LibraryRoutine routine = found == routines().end() ? library_fallback : found->second;
  if (!routine)
    raise(ErrorKind::NotImplemented, "%s(): the library routine '%s' is not part of this build",
          frame.call.op->schema.name.c_str(), step.name.c_str());
  std::vector<TensorImpl*> inputs, outputs;
  std::vector<Tensor> copies;
  for (const Operand& output : step.outputs) outputs.push_back(frame.make(output.value));
  if (frame.meta) return;
  for (const Operand& input : step.inputs)
    inputs.push_back(copies.emplace_back(row_major(*frame.value(input.value))).get());
  std::vector<Register> numbers;
  for (uint16_t number : step.numbers) numbers.push_back(frame.registers[number]);
  LibraryCall call{frame, step, inputs, outputs, numbers};
  routine(call);
}

}  // namespace pellucid
