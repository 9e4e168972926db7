"""The ops that C++ calls by name, each with what needs it.

The runtime knows kinds of ops, never ops; these, and the routines of libraries, are the
exceptions. ``headers.py`` writes runtime/abi/named_ops.h from the rows.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class NamedOp(NamedTuple):
    """``symbol``: the C++ name; ``name``: the full name; ``why``: what needs it."""

    symbol: str
    name: str
    why: str


NAMED_OPS: Final = (
    NamedOp(
        "Add",
        "add.Tensor",
        "gradients of several uses of a value are added up, recorded",
    ),
    NamedOp(
        "AddInPlace",
        "add_.Tensor",
        "gradients are added up in memory that nobody else has",
    ),
    NamedOp(
        "Alias",
        "alias",
        "indexing without steps; tensors become objects of a subclass",
    ),
    NamedOp(
        "AsStrided",
        "as_strided",
        "a view's history after a write in place is as_strided of its base",
    ),
    NamedOp(
        "AsStridedGeometry",
        "pellucid::as_strided.geometry",
        "as_strided itself, with the base's geometry for the gradient",
    ),
    NamedOp(
        "BoxMuller", "pellucid::_box_muller", "normal draws are made of uniform ones"
    ),
    NamedOp(
        "Clone",
        "clone",
        "a leaf's gradient must not share memory; tangents are not shared",
    ),
    NamedOp("Copy", "copy_", "writes into destinations, gradients and indexed places"),
    NamedOp(
        "Detach",
        "detach",
        "modes and subclasses see saved results and gradients leave the graph",
    ),
    NamedOp(
        "Expand",
        "expand",
        "batched operands, assignment by index and tangents broadcast",
    ),
    NamedOp("FillScalar", "fill_.Scalar", "assignment of a number by index"),
    NamedOp("Index", "index.Tensor", "indexing by tensors"),
    NamedOp("IndexPut", "index_put_", "assignment by tensors of indices"),
    NamedOp("Narrow", "narrow", "the parts of split"),
    NamedOp("OnesLike", "ones_like", "modes and subclasses see where backward begins"),
    NamedOp(
        "Select",
        "select.int",
        "indexing by a number; examples of a batch; the parts of unbind",
    ),
    NamedOp("Slice", "slice.Tensor", "indexing by a slice"),
    NamedOp("SplitEven", "split.Tensor", "chunk is split"),
    NamedOp(
        "SplitWithSizes",
        "split_with_sizes",
        "split and chunk with parts of several sizes",
    ),
    NamedOp("Stack", "stack", "results of examples become a batch"),
    NamedOp(
        "Sum",
        "sum.dim_IntList",
        "a gradient is summed where its input was broadcast",
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
        "reshape where strides allow it; summed gradients lose their leading dims",
    ),
    NamedOp("Zero", "zero_", "a tangent of what is overwritten"),
    NamedOp("ZerosLike", "zeros_like", "tangents of operands that have none"),
)
