"""Sizes of nested tensors: numbers if all examples agree, else a ``NestedInt``.

Called by the runtime for ``size``, ``stride`` and ``is_contiguous``.
"""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import _C, Tensor
from pellucid.nested._ops.parts import Parts, Ragged, wrapped
from pellucid.utils._symbolic.numbers import SymInt


class NestedInt(SymInt):
    """The size of a ragged dim: equal only for tensors of the same structure.

    As an int it is the number of rows of the longest example, times ``factor``.
    """

    structure: Ragged
    factor: int

    def __new__(cls, structure: Ragged, factor: int = 1) -> NestedInt:
        made = int.__new__(cls, structure.longest * factor)
        made.structure, made.factor = structure, factor
        return made

    @property
    def node(self) -> Any:  # type: ignore[override]
        """Refuses: read by the arithmetic of other SymInts."""
        raise NotImplementedError(
            f"{self!r} is the size of a ragged dim, one for each example: it can be "
            "compared, multiplied and given as a size. Read "
            "tensor.offsets().diff() for the numbers of rows"
        )

    def __repr__(self) -> str:
        number = f"j{self.structure.number}"
        return number if self.factor == 1 else f"{self.factor}*{number}"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __bool__(self) -> bool:
        return True

    def _is(self, other: Any) -> bool:
        return (
            isinstance(other, NestedInt)
            and self.structure is other.structure
            and self.factor == other.factor
        )

    def __eq__(self, other: object) -> Any:
        return self._is(other)

    def __ne__(self, other: object) -> Any:
        return not self._is(other)

    def __hash__(self) -> int:
        return hash((self.structure.number, self.factor))

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, NestedInt):
            raise NotImplementedError("a product of two ragged sizes has no number")
        return NestedInt(self.structure, self.factor * int(other))

    __rmul__ = __mul__

    def _ordered(self, other: Any, small: bool) -> bool:
        if isinstance(other, NestedInt):
            if self.structure is other.structure:
                return False
        elif int(other) <= 2:
            return small
        raise ValueError(
            f"{self!r} is a size of each example: it has no order with {other}"
        )

    def __lt__(self, other: Any) -> Any:
        return self._ordered(other, False)

    def __gt__(self, other: Any) -> Any:
        return self._ordered(other, True)

    def __le__(self, other: Any) -> Any:
        return self._is(other) or self._ordered(other, False)

    def __ge__(self, other: Any) -> Any:
        return self._is(other) or self._ordered(other, True)


def size_of(tensor: Tensor) -> tuple[Any, ...]:
    """All sizes of a jagged tensor."""
    axis, structure, values = _C._nested_kind(tensor)
    inner: list[Any] = list(values.shape)
    inner[axis - 1] = NestedInt(structure)
    return (len(structure.spans), *inner)


def geometry(tensor: Tensor, question: str, dim: Any) -> Any:
    """``tensor.size(dim)``, ``.stride(dim)``, ``.is_contiguous(...)``, or
    ``.is_shared()``.
    """
    parts = Parts(*_C._nested_kind(tensor))
    if question == "is_shared":
        return parts.values.is_shared()
    if question == "is_contiguous":
        if parts.has_holes:
            return False
        return parts.values.is_contiguous()
    if not parts.is_jagged:
        return _irregular(parts, question, dim)
    if question == "size":
        found: Any = pellucid.Size(size_of(tensor))
    else:
        found = _strides(parts)
    return found if dim is None else found[dim]


def _strides(parts: Parts) -> tuple[Any, ...]:
    """The strides of a dense tensor: the batch has the largest."""
    inner: list[Any] = list(parts.values.stride())
    place = parts.axis - 1
    rows = parts.values.shape[place]
    ragged = NestedInt(parts.structure)
    for k, step in enumerate(inner):
        if k < place and rows and step % rows == 0:
            inner[k] = ragged * (step // rows)
    total = parts.values.numel() // max(rows, 1)
    return (ragged * total, *inner)


def _irregular(parts: Parts, question: str, dim: Any) -> int:
    if dim is None or question == "stride":
        raise RuntimeError(
            f"a nested tensor of the strided layout has no {question}() of all "
            "dimensions: its examples differ. Ask one dimension, or each of unbind()"
        )
    dim = wrapped(dim, parts.dim)
    if dim == 0:
        return parts.batch
    sizes = {size[dim - 1] for size in parts.structure.sizes}
    if len(sizes) != 1:
        raise RuntimeError(
            f"Given dimension {dim} is irregular and does not have a size."
        )
    return int(sizes.pop())
