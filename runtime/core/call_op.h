// Calls of ops from C++: by record or by name, with the schema's defaults for arguments left out.
#pragma once

#include <atomic>
#include <cstddef>
#include <initializer_list>
#include <new>

#include "core/op_record.h"

namespace pellucid {

// Boxed values on the stack, of which only the first `count` are written.
template <size_t N>
class Values {
 public:
  explicit Values(size_t count) { for (size_t i = 0; i < count; ++i) new (&data()[i]) Value; }
  Value* data() { return reinterpret_cast<Value*>(memory_); }
  Value& operator[](size_t index) { return data()[index]; }

 private:
  alignas(Value) std::byte memory_[N * sizeof(Value)];
};

// A 0-d tensor that is weak in promotion, as Python numbers are.
Tensor wrap_number(const Value& number);

// Raises when the op table has no such op.
OpRecord& required_op(const char* name);

// The op's only result.
Tensor call_op(const OpRecord& op, std::initializer_list<Value> arguments);

// One op by its name; the record is looked up at the first call, when the op table is loaded.
class NamedOp {
 public:
  constexpr explicit NamedOp(const char* name) : name_(name) {}
  Tensor operator()(std::initializer_list<Value> arguments) { return call_op(record(), arguments); }
  const OpRecord& record() {
    const OpRecord* op = op_.load(std::memory_order_acquire);
    if (!op) [[unlikely]] op_.store(op = &required_op(name_), std::memory_order_release);
    return *op;
  }

 private:
  const char* name_;
  std::atomic<const OpRecord*> op_{nullptr};
};

}  // namespace pellucid
