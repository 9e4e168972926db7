#include "core/named_ops.h"

#include "core/call_op.h"
#include "core/dispatcher.h"
#include "core/error.h"

namespace pellucid {

std::atomic<OpRecord*> named_op_records[kNumNamedOps];

namespace {

struct Row {
  NamedOp op;
  const char* name;
  const char* why;  // what needs it, for the error
};

// In the order of the enum.
constexpr Row kRows[] = {
    {NamedOp::Add, "add.Tensor", "gradients of several uses of a value are added up, recorded"},
    {NamedOp::AddInPlace, "add_.Tensor", "gradients are added up in memory that nobody else has"},
    {NamedOp::Alias, "alias", "indexing without steps gives a new tensor; tensors become objects of a subclass"},
    {NamedOp::AsStrided, "as_strided", "a view's history after a write in place is as_strided of its base"},
    {NamedOp::BoxMuller, "_box_muller", "normal draws are made of uniform ones"},
    {NamedOp::Cat, "cat", "the gradient of split"},
    {NamedOp::Clone, "clone", "a leaf's gradient must not share memory; tangents are not shared"},
    {NamedOp::Copy, "copy_", "writes into destinations, gradients and indexed places"},
    {NamedOp::Detach, "detach", "subclasses see how a leaf's gradient leaves the graph"},
    {NamedOp::Expand, "expand", "batched operands, assignment by index and tangents broadcast"},
    {NamedOp::FillScalar, "fill_.Scalar", "assignment of a number by index"},
    {NamedOp::Index, "index.Tensor", "indexing by tensors"},
    {NamedOp::IndexPut, "index_put_", "assignment by tensors of indices"},
    {NamedOp::Narrow, "narrow", "the parts of split"},
    {NamedOp::OnesLike, "ones_like", "subclasses see where backward begins"},
    {NamedOp::Select, "select.int", "indexing by a number; examples of a batch; the parts of unbind"},
    {NamedOp::Slice, "slice.Tensor", "indexing by a slice"},
    {NamedOp::SplitEven, "split.Tensor", "chunk is split"},
    {NamedOp::SplitWithSizes, "split_with_sizes", "split and chunk with parts of several sizes"},
    {NamedOp::Stack, "stack", "results of examples become a batch; the gradient of unbind"},
    {NamedOp::Sum, "sum.dim_IntList", "a gradient is summed where its input was broadcast"},
    {NamedOp::ToCopy, "_to_copy", "gradients, tangents, operands and values are converted, recorded"},
    {NamedOp::Unsqueeze, "unsqueeze", "indexing by None; ranks of batched operands"},
    {NamedOp::View, "view", "reshape where strides allow it; summed gradients lose their leading dims"},
    {NamedOp::ViewAsComplexCopy, "view_as_complex_copy", "view_as_complex in transforms, the gradient of view_as_real"},
    {NamedOp::ViewAsRealCopy, "view_as_real_copy", "view_as_real in transforms, the gradient of view_as_complex"},
    {NamedOp::Zero, "zero_", "a tangent of what is overwritten"},
    {NamedOp::ZerosLike, "zeros_like", "tangents of operands that have none"},
};
static_assert(std::size(kRows) == kNumNamedOps);
static_assert([] {
  for (int k = 0; k < kNumNamedOps; ++k)
    if (static_cast<int>(kRows[k].op) != k) return false;
  return true;
}());

}  // namespace

OpRecord& find_named_op(NamedOp op) {
  const Row& row = kRows[static_cast<int>(op)];
  OpRecord* record = find_op(row.name);
  if (!record)
    raise(ErrorKind::NotImplemented, "the op table has no %s, which the runtime needs: %s", row.name, row.why);
  named_op_records[static_cast<int>(op)].store(record, std::memory_order_release);
  return *record;
}

void find_named_ops() {
  for (const Row& row : kRows) find_named_op(row.op);
}

Tensor call_op(NamedOp op, std::initializer_list<Value> arguments) { return call_op(named_op(op), arguments); }

}  // namespace pellucid
