// Calls of ops from C++ by record; omitted arguments take the schema's defaults.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <new>

#include "core/op_record.h"

namespace pellucid {

// An on-stack array of boxed values, of which only the first `count` are initialised.
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

// A 0-d tensor that is weak in promotion, like a Python number.
Tensor wrap_number(const Value& number);

// Raises if the op table has no such op. For names that come from outside; C++ itself uses core/named_ops.h.
OpRecord& required_op(const char* name);

// The op's only result.
Tensor call_op(const OpRecord& op, std::initializer_list<Value> arguments);

}  // namespace pellucid
