// Calls of ops from C++ by record, with the schema's defaults for arguments left out.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <new>

#include "core/op_record.h"

namespace pellucid {

// Boxed values on the stack, of which only the first `count` are written.
template <size_t N>
class Values {
 public:
  explicit Values(size_t count) {
    for (size_t i = 0; i < count; ++i) new (&data()[i]) Value;
  }
  Value* data() { return reinterpret_cast<Value*>(memory_); }
  Value& operator[](size_t index) { return data()[index]; }

 private:
  alignas(Value) std::byte memory_[N * sizeof(Value)];
};

// A 0-d tensor that is weak in promotion, as Python numbers are.
Tensor wrap_number(const Value& number);

// Raises when the op table has no such op. For names that come from outside; C++ has its own in core/named_ops.h.
OpRecord& required_op(const char* name);

// The op's only result.
Tensor call_op(const OpRecord& op, std::initializer_list<Value> arguments);

}  // namespace pellucid
