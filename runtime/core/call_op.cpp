#include "core/call_op.h"

#include "core/dispatcher.h"
#include "core/error.h"

namespace pellucid {

Tensor wrap_number(const Value& number) {
  Tensor tensor;
  switch (number.tag) {
    case Tag::Float:
      tensor = empty({}, DType::Float64);
      *tensor->host_as<double>() = number.number;
      break;
    case Tag::Int:
      tensor = empty({}, DType::Int64);
      *tensor->host_as<int64_t>() = number.integer;
      break;
    case Tag::Bool:
      tensor = empty({}, DType::Bool);
      *tensor->host_as<bool>() = number.integer != 0;
      break;
    default: tensor = empty({}, DType::Complex128); *tensor->host_as<Complex>() = *number.complex;
  }
  tensor->flags |= TensorImpl::kWrappedNumber;
  return tensor;
}

OpRecord& required_op(const char* name) {
  OpRecord* op = find_op(name);
  if (!op) raise(ErrorKind::NotImplemented, "the op %s does not exist", name);
  return *op;
}

Tensor call_op(const OpRecord& op, std::initializer_list<Value> arguments) {
  const auto& declared = op.schema.arguments;
  Values<kMaxArguments> args(0);
  Values<kMaxReturns> rets(op.schema.returns.size());
  Value* next = args.data();
  for (const Value& value : arguments) new (next++) Value(value);
  for (size_t i = arguments.size(); i < declared.size(); ++i) new (next++) Value(declared[i].default_value);
  OpCall call{&op, args.data(), rets.data(), static_cast<uint8_t>(declared.size()), {}};
  dispatch(call);
  return Tensor::adopt(rets[0].tensor);
}

}  // namespace pellucid
