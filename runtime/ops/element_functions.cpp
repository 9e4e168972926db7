#include "ops/element_functions.h"

#include <algorithm>

#include "core/error.h"
#include "ops/filling.h"
#include "ops/op_table.h"
#include "ops/trace.h"
#include "plan/items.h"
#include "plan/records.h"
#include "plan/register_program.h"
#include "plan/tile_program.h"

namespace pellucid {

namespace {

uint8_t counted(size_t count, int limit) {
  if (count > static_cast<size_t>(limit))
    raise(ErrorKind::NotImplemented, "a pointwise op with %zu operands of one kind: the runtime takes at most %d",
          count, limit);
  return static_cast<uint8_t>(count);
}

// The common dtype and one code per argument, then the values of the static arguments.
KeyBuilder key_of(const OpRecord& functional, const Value* args, PointwiseKey key) {
  KeyBuilder out;
  out.add(key.low());
  out.add(key.high());
  const std::vector<Argument>& arguments = functional.schema.arguments;
  for (size_t k = 0; k < arguments.size(); ++k)
    if (key.code(static_cast<int>(k)) == PointwiseKey::Static) out.add_value(arguments[k], args[k]);
  return out;
}

KeyBuilder frozen_key(encoded::PointwiseKey& given) {
  PointwiseKey key;
  key.set_common(given.common);
  Decoder& in = given.items;
  const size_t count = in.list();
  if (count > kMaxPointwiseArguments) in.refuse_code();
  KeyBuilder statics;
  for (size_t k = 0; k < count; ++k)
    read_operand_item(in, [&]<class Item>(Item item) {
      const int argument = static_cast<int>(k);
      if constexpr (std::is_same_v<Item, encoded::OperandTensor>) {
        key.set(argument, static_cast<uint8_t>(item.dtype));
      } else if constexpr (std::is_same_v<Item, encoded::OperandNumber>) {
        key.set(argument, PointwiseKey::Number);
      } else if constexpr (std::is_same_v<Item, encoded::OperandStatic>) {
        key.set(argument, PointwiseKey::Static);
        statics.add_item(item.item);
      } else {
        if (item.tag != Code::None) in.refuse_code();
        key.set(argument, PointwiseKey::None);
      }
    });
  KeyBuilder out;
  out.add(key.low());
  out.add(key.high());
  for (const uint64_t word : statics.words()) out.add(word);
  return out;
}

void read_frozen(const OpRecord& op, ElementFunctions& functions) {
  if (functions.frozen_read) return;
  add_element_functions(functions, frozen_op(op).keys.inflate());
  functions.frozen_read = true;
}

}  // namespace

void add_element_functions(ElementFunctions& functions, std::span<const uint8_t> keys) {
  if (keys.empty()) return;
  Decoder in(keys);
  KeyCache<ElementFunctions::Slot> made;
  for (size_t count = in.list(); count--;) {
    auto given = in.record<encoded::KeyedFunction>();
    std::atomic<ElementFunction*>& slot = made.add(frozen_key(given.key)).function;
    if (!slot.load()) slot.store(decode_element_function(given.function).release(), std::memory_order_release);
  }
  functions.by_key.take(made);
}

std::unique_ptr<ElementFunction> decode_element_function(std::span<const uint8_t> data) {
  Decoder in(data);
  const auto given = in.record<encoded::Function>();
  auto out = std::make_unique<ElementFunction>();
  out->kernel.id = given.kernel;
  out->num_inputs = counted(given.inputs.size(), kMaxMapInputs);
  for (int k = 0; k < out->num_inputs; ++k) out->inputs[k] = {given.inputs[k].argument, given.inputs[k].dtype};
  out->num_outputs = counted(given.outputs.size(), kMaxMapOutputs);
  std::ranges::copy(given.outputs, out->outputs);
  out->num_params = counted(given.params.size(), kMaxMapParams);
  for (int k = 0; k < out->num_params; ++k) {
    const auto& [argument, dtype, exact, nonnegative, range, part] = given.params[k];
    out->params[k] = {argument, dtype, exact, nonnegative, range.has_value(), range.value_or(DType::Bool), part};
  }
  out->num_draws = given.draws;
  if (given.checks)
    out->number_checks =
        std::make_shared<const RegisterProgram>(make_program(given.checks->program, given.checks->messages));
  out->is_plain = !out->num_draws && !out->number_checks;
  for (const Message& message : make_messages(given.requirements))
    out->requirements.push_back({message.error, message.parts.at(0).text});
  attach_program(out->kernel);
  return out;
}

void check_numbers(const OpCall& call, const ElementFunction& function) {
  const RegisterProgram& program = *function.number_checks;
  std::vector<Register> registers = program.initial;
  run_program(program, 0, program.instructions.size(), call, nullptr, registers.data());
}

const ElementFunction* find_element_function(const OpCall& call, PointwiseKey key) {
  const OpRecord& op = call.op->functional ? *call.op->functional : *call.op;
  ElementFunctions& functions = *frozen_op(op).element_functions;
  const KeyBuilder full = key_of(op, call.args, key);
  if (auto* found = functions.by_key.find(full))
    if (ElementFunction* function = found->function.load(std::memory_order_acquire)) return function;
  {
    std::lock_guard lock(filling);
    read_frozen(op, functions);
    if (auto* found = functions.by_key.find(full))
      if (ElementFunction* function = found->function.load()) return function;
  }
  const Traced traced = trace_pointwise(call, key);
  std::lock_guard lock(filling);
  const ProgramScope programs(traced.programs);
  auto made = decode_element_function(traced.bytes());
  std::atomic<ElementFunction*>& slot = functions.by_key.add(full).function;
  if (!slot.load()) slot.store(made.release(), std::memory_order_release);
  return slot.load();
}

}  // namespace pellucid
