#include "ops/trace.h"

#include "core/defaults.h"
#include "core/dispatcher.h"
#include "core/error.h"
#include "ops/op_table.h"
#include "plan/items.h"
#include "plan/requests.h"
#include "plan/tile_program.h"
#include "timeline/recorder.h"

namespace pellucid {

TraceFunction trace_function = nullptr;

namespace {

void write_tensor(Encoder& out, const TensorImpl* tensor) {
  if (!tensor) return out.none();
  write_request_tensor(out, tensor->dtype, tensor->shape());
}

void write_value(Encoder& out, const Value& value) {
  auto element = [&](uint32_t k) { return value.broadcast_list ? 0 : k; };
  auto list = [&](auto&& item) {
    write_request_list(out, [&](Encoder&) {
      out.list(value.length);
      for (uint32_t k = 0; k < value.length; ++k) item(k);
    });
  };
  switch (value.tag) {
    case Tag::None: out.none(); break;
    case Tag::Tensor: write_tensor(out, value.tensor); break;
    case Tag::Int: out.integer(value.integer); break;
    case Tag::Float: out.number(value.number); break;
    case Tag::Bool: out.boolean(value.integer); break;
    case Tag::Complex: out.complex(value.complex->real, value.complex->imag); break;
    case Tag::IntList: list([&](uint32_t k) { out.integer(value.integers[element(k)]); }); break;
    case Tag::BoolList: list([&](uint32_t k) { out.boolean(value.integers[element(k)]); }); break;
    case Tag::FloatList: list([&](uint32_t k) { out.number(value.numbers[element(k)]); }); break;
    case Tag::ScalarList: list([&](uint32_t k) { write_value(out, value.values[k]); }); break;
    case Tag::TensorList:
    case Tag::OptionalTensorList: list([&](uint32_t k) { write_tensor(out, value.tensors[k]); }); break;
    case Tag::DType: write_request_dtype(out, static_cast<DType>(value.integer)); break;
    case Tag::String: out.text({value.string, value.length}); break;
    case Tag::Device:
    case Tag::Layout:
    case Tag::MemoryFormat:
    case Tag::Generator:
    case Tag::Object: write_request_ignored(out); break;
  }
}

}  // namespace

void encode_op_reference(Encoder& out, const OpRecord& op) {
  const OpRecord& functional = op.functional ? *op.functional : op;
  if (const std::string* origin = derivative_origin(functional)) return out.bytes(*origin);
  out.text(short_name(functional.qualified_name));
}

void encode_arguments(Encoder& out, const OpCall& call) {
  const OpRecord& functional = call.op->functional ? *call.op->functional : *call.op;
  size_t count = std::min<size_t>(call.num_args, functional.schema.arguments.size());
  out.list(count);
  for (size_t k = 0; k < count; ++k) write_value(out, call.args[k]);
}

namespace {

Traced ask_python(std::string_view what, const OpCall& call, const std::string& request) {
  if (!trace_function)
    raise(ErrorKind::Runtime,
          "%s has no compiled plan for these arguments, and tracing is not available.\n"
          "Import pellucid through Python.",
          call.op->schema.name.c_str());
  const TextScope event(EventKind::Prepare, "trace");
  return opened(trace_function(what, request));
}

// An argument of a pointwise op after promotion.
void write_operand(Encoder& out, const Value& value, PointwiseKey key, int argument) {
  switch (const uint8_t code = key.code(argument)) {
    case PointwiseKey::None: return out.none();
    case PointwiseKey::Number: return write_operand_number(out);
    case PointwiseKey::Static: return write_operand_static(out, [&](Encoder&) { write_value(out, value); });
    default: write_operand_tensor(out, static_cast<DType>(code));
  }
}

}  // namespace

Traced opened(std::string_view answer) {
  Decoder in(answer);
  in.expect_list(2);
  const auto found = in.bytes();
  return {{found.begin(), found.end()}, make_program_table(in.rest())};
}

std::string pointwise_request(const OpCall& call, PointwiseKey key) {
  const OpRecord& functional = call.op->functional ? *call.op->functional : *call.op;
  const size_t count = functional.schema.arguments.size();
  const auto arguments = [&](Encoder& out) {
    out.list(count);
    for (size_t k = 0; k < count; ++k) write_operand(out, call.args[k], key, static_cast<int>(k));
  };
  const auto op = [&](Encoder& out) { encode_op_reference(out, *call.op); };
  return encode_function_request(op, arguments, key.common(), default_dtype());
}

Traced trace_pointwise(const OpCall& call, PointwiseKey key) {
  return ask_python("element_function", call, pointwise_request(call, key));
}

std::string plan_request(const OpCall& call, int64_t mask) {
  const auto op = [&](Encoder& out) { encode_op_reference(out, *call.op); };
  const auto arguments = [&](Encoder& out) { encode_arguments(out, call); };
  return encode_plan_request(op, arguments, mask, default_dtype());
}

Traced trace(std::string_view what, const OpCall& call, int64_t mask) {
  return ask_python(what, call, plan_request(call, mask));
}

}  // namespace pellucid
