"""The ops that C++ calls by name, each with the reason.

The runtime knows kinds of ops, never individual ops; these and the library routines are
the exceptions. ``headers.py`` writes runtime/abi/named_ops.h from the rows.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class NamedOp(NamedTuple):
    """``symbol``: the C++ name; ``name``: the full name; ``why``: its uses."""

    symbol: str
    name: str
    why: str


_CONVOLUTION = "a GPU may have a library for it (cuda/convolutions.h)"

NAMED_OPS: Final = (
    NamedOp(
        "Add",
        "add.Tensor",
        "gradients of several uses of a value are summed, recorded",
    ),
    NamedOp(
        "AddInPlace",
        "add_.Tensor",
        "gradients are summed in memory that is not shared",
    ),
    NamedOp(
        "Alias",
        "alias",
        "indexing without steps; tensors become objects of a subclass",
    ),
    NamedOp("Argsort", "argsort", "a permutation is the order of random numbers"),
    NamedOp(
        "AsStrided",
        "as_strided",
        "a view's history after an in-place write is as_strided of its base",
    ),
    NamedOp(
        "AsStridedGeometry",
        "pellucid::as_strided.geometry",
        "as_strided itself, with the base's geometry for the gradient",
    ),
    NamedOp(
        "BoxMuller",
        "pellucid::_box_muller",
        "normal draws are computed from uniform ones",
    ),
    NamedOp(
        "Clone",
        "clone",
        "a leaf's gradient must not share memory; tangents are not shared",
    ),
    NamedOp(
        "ConjPhysical",
        "_conj_physical",
        "the elements of a tensor whose conjugation is pending",
    ),
    NamedOp("ConjView", "_conj", "a pending conjugation ends; histories of views"),
    NamedOp("Conv1d", "conv1d", _CONVOLUTION),
    NamedOp("Conv2d", "conv2d", _CONVOLUTION),
    NamedOp("Conv3d", "conv3d", _CONVOLUTION),
    NamedOp("ConvTranspose1d", "conv_transpose1d", _CONVOLUTION),
    NamedOp("ConvTranspose2d", "conv_transpose2d.input", _CONVOLUTION),
    NamedOp("ConvTranspose3d", "conv_transpose3d.input", _CONVOLUTION),
    NamedOp("Convolution", "convolution", _CONVOLUTION),
    NamedOp("ConvolutionBackward", "convolution_backward", _CONVOLUTION),
    NamedOp(
        "Copy", "copy_", "writes into destinations, gradients and indexed elements"
    ),
    NamedOp(
        "Detach",
        "detach",
        "modes and subclasses see saved results and gradients being detached",
    ),
    NamedOp(
        "Expand",
        "expand",
        "batched operands, assignment by index and tangents broadcast",
    ),
    NamedOp(
        "FillBernoulli",
        "pellucid::_fill_bernoulli_",
        "bernoulli_ of a device that has random generators",
    ),
    NamedOp(
        "FillIntegers",
        "pellucid::_fill_integers_",
        "random_, randint and randperm of such a device",
    ),
    NamedOp(
        "FillNormal",
        "pellucid::_fill_normal_",
        "normal_ and randn of such a device",
    ),
    NamedOp("FillScalar", "fill_.Scalar", "assignment of a number by index"),
    NamedOp(
        "FillUniform",
        "pellucid::_fill_uniform_",
        "uniform_ and rand of such a device",
    ),
    NamedOp("Index", "index.Tensor", "indexing by tensors"),
    NamedOp("IndexPut", "index_put_", "assignment by index tensors"),
    NamedOp("Narrow", "narrow", "the parts of split"),
    NamedOp("Neg", "neg", "the elements of a tensor whose negation is pending"),
    NamedOp("NegView", "_neg_view", "a pending negation ends; histories of views"),
    NamedOp("OnesLike", "ones_like", "modes and subclasses see where backward starts"),
    NamedOp(
        "PhiloxWords",
        "pellucid::_philox_words",
        "the words that a device draws",
    ),
    NamedOp(
        "Select",
        "select.int",
        "indexing by a number; examples of a batch; the parts of unbind",
    ),
    NamedOp("Slice", "slice.Tensor", "indexing by a slice"),
    NamedOp("SplitEven", "split.Tensor", "chunk is a split"),
    NamedOp(
        "SplitWithSizes",
        "split_with_sizes",
        "split and chunk with parts of several sizes",
    ),
    NamedOp("Stack", "stack", "results of examples are stacked into a batch"),
    NamedOp(
        "Sum",
        "sum.dim_IntList",
        "a gradient is summed over the dims in which its input was broadcast",
    ),
    NamedOp(
        "ToCopy",
        "_to_copy",
        "gradients, tangents, operands and values are converted, recorded",
    ),
    NamedOp("Unsqueeze", "unsqueeze", "indexing by None; ranks of batched operands"),
    NamedOp(
        "View",
        "view",
        "reshape if strides allow it; summed gradients lose their leading dims",
    ),
    NamedOp(
        "ViewAsComplex",
        "view_as_complex",
        "histories of complex views of real tensors",
    ),
    NamedOp("ViewAsReal", "view_as_real", "histories of real views of complex tensors"),
    NamedOp("Zero", "zero_", "the tangent of an overwritten value"),
    NamedOp("ZerosLike", "zeros_like", "tangents of operands that have none"),
)
