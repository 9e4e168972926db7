#include "python/call_op.h"

#include "core/dispatcher.h"
#include "core/error.h"

namespace pellucid::python {

Tensor NamedOp::operator()(std::initializer_list<Value> arguments) {
  if (!op_) op_ = find_op(name_);
  if (!op_) raise(ErrorKind::NotImplemented, "the op %s does not exist", name_);
  Value values[kMaxArguments];
  Value results[kMaxReturns];
  const auto& declared = op_->schema.arguments;
  size_t next = 0;
  for (const Value& argument : arguments) values[next++] = argument;
  for (; next < declared.size(); ++next) values[next] = declared[next].default_value;
  OpCall call{op_, values, results, static_cast<uint8_t>(declared.size()), KeySet()};
  dispatch(call);
  return Tensor::adopt(results[0].tensor);
}

}  // namespace pellucid::python
