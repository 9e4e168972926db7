"""Methods of Tensor that return components of nested tensors."""

from __future__ import annotations

from collections.abc import Sequence

import pellucid
from pellucid import Tensor
from pellucid._package.calls import offered
from pellucid.nested._ops.parts import Parts, is_nested, split


def values(self: Tensor) -> Tensor:
    """The values of a nested tensor; gradients pass to it."""
    return split(self).values


def _jagged(name: str, tensor: Tensor) -> Parts:
    if not is_nested(tensor) or tensor.layout is not pellucid.jagged:
        raise AttributeError(
            f"'Tensor' object has no attribute '{name}': it is of a nested tensor of "
            f"the jagged layout, and this one is {tensor.layout}"
        )
    return split(tensor)


@offered.method
def offsets(self: Tensor) -> Tensor:
    """The offset of each example's first row in the values, and the end."""
    found: Tensor = _jagged("offsets", self).structure.offsets
    return found


@offered.method
def lengths(self: Tensor) -> Tensor | None:
    """The numbers of rows, if there are holes between examples; else None."""
    found: Tensor | None = _jagged("lengths", self).structure.lengths
    return found


@offered.method
def _nested_tensor_size(self: Tensor) -> Tensor:
    """The sizes of the examples (B, dims)."""
    if not is_nested(self):
        raise NotImplementedError("_nested_tensor_size needs a nested tensor")
    return pellucid.tensor([list(each.shape) for each in split(self).pieces()])


def to_padded(
    input: Tensor, padding: float, output_size: Sequence[int] | None = None
) -> Tensor:
    """A dense tensor of the examples, padded with ``padding``. ``output_size`` may be
    larger; that of a jagged tensor may also be smaller, apart from the batch.
    """
    if not is_nested(input):
        raise NotImplementedError(
            "Could not run 'aten::to_padded_tensor' with arguments from the 'CPU' "
            "backend: it needs a nested tensor"
        )
    parts = split(input)
    pieces = parts.pieces()
    if not pieces or pieces[0].dim() == 0:
        raise RuntimeError(
            "to_padded_tensor(): at least one example with a dim is needed"
        )
    largest = [max(sizes) for sizes in zip(*(p.shape for p in pieces), strict=True)]
    largest = [len(pieces), *largest]
    wanted = largest if output_size is None else list(output_size)
    if input.layout is pellucid.jagged and len(wanted) == len(largest):
        wanted[0] = largest[0]  # as in PyTorch, where the other sizes may truncate
    elif len(wanted) != len(largest) or any(map(int.__lt__, wanted, largest)):
        raise RuntimeError(
            f"Value in output_size is less than NestedTensor padded size: "
            f"{tuple(wanted)} for {tuple(largest)}"
        )
    filled = pellucid.stack([_filled(piece, wanted[1:], padding) for piece in pieces])
    return _filled(filled, wanted, padding)


def _filled(piece: Tensor, wanted: Sequence[int], padding: float) -> Tensor:
    missing = [n - m for n, m in zip(wanted, piece.shape, strict=True)]
    widths = [width for n in reversed(missing) for width in (0, n)]
    if not any(missing):
        return piece
    return pellucid.constant_pad_nd(piece, widths, padding)
