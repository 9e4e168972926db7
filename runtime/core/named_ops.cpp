#include "core/named_ops.h"

#include "core/call_op.h"
#include "core/dispatcher.h"
#include "core/error.h"

namespace pellucid {

std::atomic<OpRecord*> named_op_records[kNumNamedOps];

OpRecord& find_named_op(NamedOp op) {
  const NamedOpRow& row = kNamedOps[static_cast<int>(op)];
  OpRecord* record = find_op(row.name);
  if (!record)
    raise(ErrorKind::NotImplemented, "the op table has no %s, which the runtime needs: %s", row.name, row.why);
  named_op_records[static_cast<int>(op)].store(record, std::memory_order_release);
  return *record;
}

void find_named_ops() {
  for (int k = 0; k < kNumNamedOps; ++k) find_named_op(static_cast<NamedOp>(k));
}

Tensor call_op(NamedOp op, std::initializer_list<Value> arguments) { return call_op(named_op(op), arguments); }

}  // namespace pellucid
