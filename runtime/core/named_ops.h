// The ops that C++ calls by name: the generated list abi/named_ops.h (tests/structure/test_named_ops.py).
//
// The records are found when the op table is loaded, which fails if one is missing, or at the first call before that.
#pragma once

#include <atomic>
#include <initializer_list>

#include "abi/named_ops.h"
#include "core/op_record.h"

namespace pellucid {

extern std::atomic<OpRecord*> named_op_records[kNumNamedOps];
OpRecord& find_named_op(NamedOp op);  // raises when the op table has no such op

inline OpRecord& named_op(NamedOp op) {
  OpRecord* record = named_op_records[static_cast<int>(op)].load(std::memory_order_acquire);
  return record ? *record : find_named_op(op);
}

// Finds all of them; called once, when the op table is loaded.
void find_named_ops();

// Returns the op's only result; omitted arguments take the schema's defaults.
Tensor call_op(NamedOp op, std::initializer_list<Value> arguments);

}  // namespace pellucid
