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
  Argsort,
  AsStrided,
  AsStridedGeometry,
  BoxMuller,
  Clone,
  ConjPhysical,
  ConjView,
  Copy,
  Detach,
  Expand,
  FillBernoulli,
  FillIntegers,
  FillNormal,
  FillScalar,
  FillUniform,
  Index,
  IndexPut,
  Narrow,
  Neg,
  NegView,
  OnesLike,
  PhiloxWords,
  Select,
  Slice,
  SplitEven,
  SplitWithSizes,
  Stack,
  Sum,
  ToCopy,
  Unsqueeze,
  View,
  ViewAsComplex,
  ViewAsReal,
  Zero,
  ZerosLike,
};
constexpr int kNumNamedOps = 38;

struct NamedOpRow {
  const char *name, *why;  // what needs it, for the error
};
inline constexpr NamedOpRow kNamedOps[] = {
    {"add.Tensor", "gradients of several uses of a value are summed, recorded"},
    {"add_.Tensor", "gradients are summed in memory that is not shared"},
    {"alias", "indexing without steps; tensors become objects of a subclass"},
    {"argsort", "a permutation is the order of random numbers"},
    {"as_strided", "a view's history after an in-place write is as_strided of its base"},
    {"pellucid::as_strided.geometry", "as_strided itself, with the base's geometry for the gradient"},
    {"pellucid::_box_muller", "normal draws are computed from uniform ones"},
    {"clone", "a leaf's gradient must not share memory; tangents are not shared"},
    {"_conj_physical", "the elements of a tensor whose conjugation is pending"},
    {"_conj", "a pending conjugation ends; histories of views"},
    {"copy_", "writes into destinations, gradients and indexed elements"},
    {"detach", "modes and subclasses see saved results and gradients being detached"},
    {"expand", "batched operands, assignment by index and tangents broadcast"},
    {"pellucid::_fill_bernoulli_", "bernoulli_ of a device that has random generators"},
    {"pellucid::_fill_integers_", "random_, randint and randperm of such a device"},
    {"pellucid::_fill_normal_", "normal_ and randn of such a device"},
    {"fill_.Scalar", "assignment of a number by index"},
    {"pellucid::_fill_uniform_", "uniform_ and rand of such a device"},
    {"index.Tensor", "indexing by tensors"},
    {"index_put_", "assignment by index tensors"},
    {"narrow", "the parts of split"},
    {"neg", "the elements of a tensor whose negation is pending"},
    {"_neg_view", "a pending negation ends; histories of views"},
    {"ones_like", "modes and subclasses see where backward starts"},
    {"pellucid::_philox_words", "the words that a device draws"},
    {"select.int", "indexing by a number; examples of a batch; the parts of unbind"},
    {"slice.Tensor", "indexing by a slice"},
    {"split.Tensor", "chunk is a split"},
    {"split_with_sizes", "split and chunk with parts of several sizes"},
    {"stack", "results of examples are stacked into a batch"},
    {"sum.dim_IntList", "a gradient is summed over the dims in which its input was broadcast"},
    {"_to_copy", "gradients, tangents, operands and values are converted, recorded"},
    {"unsqueeze", "indexing by None; ranks of batched operands"},
    {"view", "reshape if strides allow it; summed gradients lose their leading dims"},
    {"view_as_complex", "histories of complex views of real tensors"},
    {"view_as_real", "histories of real views of complex tensors"},
    {"zero_", "the tangent of an overwritten value"},
    {"zeros_like", "tangents of operands that have none"},
};
}  // namespace pellucid
