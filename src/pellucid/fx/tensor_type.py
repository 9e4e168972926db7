"""``torch.fx.tensor_type``: shapes as types; sizes may be unknown (``Dyn``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["Dyn", "TensorType", "is_consistent", "is_more_precise"]


class _DynType:
    """The type of which nothing is known; there is one, ``Dyn``."""

    __name__ = "_DynType"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _DynType)

    def __hash__(self) -> int:
        return hash(_DynType)

    def __str__(self) -> str:
        return "Dyn"

    __repr__ = __str__


Dyn = _DynType()


class TensorType:
    """A tensor's sizes; a size may be ``Dyn``. Used as an annotation.

    Example::

        def f(x: TensorType((1, 2, Dyn))): ...
    """

    __origin__: Any

    def __init__(self, dim: Sequence[Any]) -> None:
        self.__origin__ = TensorType
        self.__args__ = tuple(dim)

    def __class_getitem__(cls, *args: Any) -> TensorType:
        (dim,) = args
        return TensorType(dim if isinstance(dim, tuple | list) else (dim,))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorType) and self.__args__ == other.__args__

    def __hash__(self) -> int:
        return hash(self.__args__)

    def __repr__(self) -> str:
        return f"TensorType[{self.__args__}]"


def is_consistent(t1: Any, t2: Any) -> bool:
    """Whether one value can have both types: they agree where both say something."""
    if t1 == t2 or Dyn in (t1, t2):
        return True
    return _pairwise(is_consistent, t1, t2)


def is_more_precise(t1: Any, t2: Any) -> bool:
    """Whether ``t1`` says all that ``t2`` does."""
    if t1 == t2 or t2 == Dyn:
        return True
    return _pairwise(is_more_precise, t1, t2)


def _pairwise(relation: Any, t1: Any, t2: Any) -> bool:
    if not isinstance(t1, TensorType) or not isinstance(t2, TensorType):
        return False
    if len(t1.__args__) != len(t2.__args__):
        return False
    return all(map(relation, t1.__args__, t2.__args__))
