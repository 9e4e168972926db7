// Calls of ops that Python's data model implies (indexing, assignment): by name, found once.
#pragma once

#include <initializer_list>

#include "core/op_record.h"

namespace pellucid::python {

// One op by its name; the record is looked up at the first call, when the op table is loaded.
class NamedOp {
 public:
  constexpr explicit NamedOp(const char* name) : name_(name) {}
  // The op's only result. Arguments left out take their defaults.
  Tensor operator()(std::initializer_list<Value> arguments);

 private:
  const char* name_;
  OpRecord* op_ = nullptr;
};

}  // namespace pellucid::python
