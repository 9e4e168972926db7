#include "ops/scalar_functions.h"

#include <algorithm>

#include "core/error.h"
#include "ops/op_table.h"
#include "ops/trace.h"
#include "plan/register_program.h"
#include "plan/tile_program.h"

namespace pellucid {

namespace {

DType dtype(Decoder& in) {
  DType out;
  const std::string_view text = in.text();
  if (!parse_dtype(text, out))
    raise(ErrorKind::Value, "the op table names an unknown dtype '%.*s'", static_cast<int>(text.size()), text.data());
  return out;
}

uint8_t counted(size_t count, int limit) {
  if (count > static_cast<size_t>(limit))
    raise(ErrorKind::NotImplemented, "a pointwise op with %zu operands of one kind: the runtime takes %d", count,
          limit);
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

// A frozen key: [common dtype, [per argument: None, ["tensor", dtype], ["number"] or ["static", value]]].
KeyBuilder frozen_key(Decoder& in) {
  PointwiseKey key;
  KeyBuilder out;
  in.expect_list(2);
  key.set_common(dtype(in));
  const size_t count = in.list();
  std::vector<KeyBuilder> statics;
  for (size_t k = 0; k < count; ++k) {
    const int argument = static_cast<int>(k);
    if (in.take_none()) {
      key.set(argument, PointwiseKey::None);
      continue;
    }
    in.list();
    const std::string_view kind = in.text();
    if (kind == "tensor") key.set(argument, static_cast<uint8_t>(dtype(in)));
    else if (kind == "number") key.set(argument, PointwiseKey::Number);
    else {
      key.set(argument, PointwiseKey::Static);
      statics.emplace_back().add_item(in);
    }
  }
  out.add(key.low());
  out.add(key.high());
  for (const KeyBuilder& value : statics)
    for (uint64_t word : value.words()) out.add(word);
  return out;
}

void read_frozen(const OpRecord& op, ScalarFunctions& functions) {
  if (!std::exchange(functions.frozen_read, true)) add_scalar_functions(functions, frozen_op(op).keys);
}

}  // namespace

void add_scalar_functions(ScalarFunctions& functions, std::span<const uint8_t> keys) {
  if (keys.empty()) return;
  Decoder in(keys);
  for (size_t count = in.list(); count--;) {
    in.expect_list(2);
    const KeyBuilder key = frozen_key(in);
    const auto encoded = in.bytes();
    std::atomic<ScalarFunction*>& slot = functions.by_key.add(key);
    if (!slot.load()) slot.store(decode_scalar_function(encoded).release(), std::memory_order_release);
  }
}

std::unique_ptr<ScalarFunction> decode_scalar_function(std::span<const uint8_t> data) {
  Decoder in(data);
  auto out = std::make_unique<ScalarFunction>();
  in.expect_list(7);
  const auto id = in.bytes();
  if (id.size() != out->kernel.id.size())
    raise(ErrorKind::Value, "the op table names a kernel by %zu bytes", id.size());
  std::ranges::copy(id, out->kernel.id.begin());
  out->num_inputs = counted(in.list(), kMaxMapInputs);
  for (int k = 0; k < out->num_inputs; ++k) {
    in.expect_list(2);
    out->inputs[k].argument = static_cast<uint8_t>(in.integer());
    out->inputs[k].dtype = dtype(in);
  }
  out->num_outputs = counted(in.list(), kMaxMapOutputs);
  for (int k = 0; k < out->num_outputs; ++k) out->outputs[k] = dtype(in);
  out->num_params = counted(in.list(), kMaxMapParams);
  for (int k = 0; k < out->num_params; ++k) {
    in.expect_list(6);
    ScalarFunction::Parameter& parameter = out->params[k];
    parameter.argument = static_cast<uint8_t>(in.integer());
    parameter.dtype = dtype(in);
    parameter.exact = in.boolean();
    parameter.nonnegative = in.boolean();
    parameter.has_range = !in.take_none();
    if (parameter.has_range) parameter.range = dtype(in);
    parameter.part = static_cast<ScalarFunction::Part>(in.integer());
  }
  out->num_draws = static_cast<uint8_t>(in.integer());
  if (!in.take_none()) {
    in.expect_list(2);
    auto checks = std::make_unique<RegisterProgram>();
    decode_program(in, *checks);
    decode_messages(in, *checks);
    out->number_checks = checks.release();  // lives as long as the function: forever
  }
  out->is_plain = !out->num_draws && !out->number_checks;
  RegisterProgram of_elements;
  decode_messages(in, of_elements);
  for (const Message& message : of_elements.messages)
    out->requirements.push_back({error_kind(message.error), message.parts.at(0).text});
  attach_program(out->kernel);
  return out;
}

void check_numbers(const OpCall& call, const ScalarFunction& function) {
  const RegisterProgram& program = *function.number_checks;
  std::vector<Register> registers = program.initial;
  run_program(program, 0, program.instructions.size(), call, nullptr, registers.data());
}

const ScalarFunction* find_scalar_function(const OpCall& call, PointwiseKey key) {
  const OpRecord& op = call.op->functional ? *call.op->functional : *call.op;
  ScalarFunctions& functions = *frozen_op(op).scalar_functions;
  const KeyBuilder full = key_of(op, call.args, key);
  if (auto* found = functions.by_key.find(full))
    if (ScalarFunction* function = found->load(std::memory_order_acquire)) return function;
  {
    std::lock_guard lock(functions.mutex);
    read_frozen(op, functions);
    if (auto* found = functions.by_key.find(full))
      if (ScalarFunction* function = found->load()) return function;
  }
  const std::string traced = trace_pointwise(call, key);
  std::lock_guard lock(functions.mutex);
  auto made = decode_scalar_function({reinterpret_cast<const uint8_t*>(traced.data()), traced.size()});
  std::atomic<ScalarFunction*>& slot = functions.by_key.add(full);
  if (!slot.load()) slot.store(made.release(), std::memory_order_release);
  return slot.load();
}

}  // namespace pellucid
