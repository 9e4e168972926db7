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
  ConjPhysical,
  ConjView,
  Conv1d,
  Conv2d,
  Conv3d,
  ConvTranspose1d,
  ConvTranspose2d,
  ConvTranspose3d,
  Convolution,
  ConvolutionBackward,
  Copy,
  Detach,
  Expand,
  FillScalar,
  Index,
  IndexPut,
  Narrow,
  Neg,
  NegView,
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
  ViewAsComplex,
  ViewAsReal,
  Zero,
  ZerosLike,
};
constexpr int kNumNamedOps = 40;

struct NamedOpRow {
  const char *name, *why;  // what needs it, for the error
};
inline constexpr NamedOpRow kNamedOps[] = {
    {"add.Tensor", "gradients of several uses of a value are summed, recorded"},
    {"add_.Tensor", "gradients are summed in memory that is not shared"},
    {"alias", "indexing without steps; tensors become objects of a subclass"},
    {"as_strided", "a view's history after an in-place write is as_strided of its base"},
    {"pellucid::as_strided.geometry", "as_strided itself, with the base's geometry for the gradient"},
    {"pellucid::_box_muller", "normal draws are computed from uniform ones"},
    {"clone", "a leaf's gradient must not share memory; tangents are not shared"},
    {"_conj_physical", "the elements of a tensor whose conjugation is pending"},
    {"_conj", "a pending conjugation ends; histories of views"},
    {"conv1d", "a GPU may have a library for it (cuda/convolutions.h)"},
    {"conv2d", "a GPU may have a library for it (cuda/convolutions.h)"},
    {"conv3d", "a GPU may have a library for it (cuda/convolutions.h)"},
    {"conv_transpose1d", "a GPU may have a library for it (cuda/convolutions.h)"},
    {"conv_transpose2d.input", "a GPU may have a library for it (cuda/convolutions.h)"},
    {"conv_transpose3d.input", "a GPU may have a library for it (cuda/convolutions.h)"},
    {"convolution", "a GPU may have a library for it (cuda/convolutions.h)"},
    {"convolution_backward", "a GPU may have a library for it (cuda/convolutions.h)"},
    {"copy_", "writes into destinations, gradients and indexed elements"},
    {"detach", "modes and subclasses see saved results and gradients being detached"},
    {"expand", "batched operands, assignment by index and tangents broadcast"},
    {"fill_.Scalar", "assignment of a number by index"},
    {"index.Tensor", "indexing by tensors"},
    {"index_put_", "assignment by index tensors"},
    {"narrow", "the parts of split"},
    {"neg", "the elements of a tensor whose negation is pending"},
    {"_neg_view", "a pending negation ends; histories of views"},
    {"ones_like", "modes and subclasses see where backward starts"},
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
