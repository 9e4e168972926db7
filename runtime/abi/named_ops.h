// The ops that C++ calls by name.
//
// Generated from src/pellucid_compiler/abi/named_ops.py by tools/build.py: change it there.
// clang-format off
#pragma once

#include <cstdint>

namespace pellucid {
enum class NamedOp : uint8_t {
  Add,
  AddInPlace,
  Alias,
  AsStrided,
  AsStridedGeometry,
  BoxMuller,
  Clone,
  Copy,
  Detach,
  Expand,
  FillScalar,
  Index,
  IndexPut,
  Narrow,
  OnesLike,
  Select,
  Slice,
  SplitEven,
  SplitWithSizes,
  Stack,
  Sum,
  ToCopy,
  Unsqueeze,
  View,
  Zero,
  ZerosLike,
};
constexpr int kNumNamedOps = 26;

struct NamedOpRow {
  const char *name, *why;  // what needs it, for the error
};
inline constexpr NamedOpRow kNamedOps[] = {
    {"add.Tensor", "gradients of several uses of a value are added up, recorded"},
    {"add_.Tensor", "gradients are added up in memory that nobody else has"},
    {"alias", "indexing without steps; tensors become objects of a subclass"},
    {"as_strided", "a view's history after a write in place is as_strided of its base"},
    {"pellucid::as_strided.geometry", "as_strided itself, with the base's geometry for the gradient"},
    {"pellucid::_box_muller", "normal draws are made of uniform ones"},
    {"clone", "a leaf's gradient must not share memory; tangents are not shared"},
    {"copy_", "writes into destinations, gradients and indexed places"},
    {"detach", "modes and subclasses see saved results and gradients leave the graph"},
    {"expand", "batched operands, assignment by index and tangents broadcast"},
    {"fill_.Scalar", "assignment of a number by index"},
    {"index.Tensor", "indexing by tensors"},
    {"index_put_", "assignment by tensors of indices"},
    {"narrow", "the parts of split"},
    {"ones_like", "modes and subclasses see where backward begins"},
    {"select.int", "indexing by a number; examples of a batch; the parts of unbind"},
    {"slice.Tensor", "indexing by a slice"},
    {"split.Tensor", "chunk is split"},
    {"split_with_sizes", "split and chunk with parts of several sizes"},
    {"stack", "results of examples become a batch"},
    {"sum.dim_IntList", "a gradient is summed where its input was broadcast"},
    {"_to_copy", "gradients, tangents, operands and values are converted, recorded"},
    {"unsqueeze", "indexing by None; ranks of batched operands"},
    {"view", "reshape where strides allow it; summed gradients lose their leading dims"},
    {"zero_", "a tangent of what is overwritten"},
    {"zeros_like", "tangents of operands that have none"},
};
}  // namespace pellucid
