"""``ReduceOp``: how a collective combines the ranks' elements."""

from __future__ import annotations

import enum
from typing import Any, ClassVar


class RedOpType(enum.IntEnum):
    """The kinds of reduction, numbered as in runtime/distributed/reduction.h."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8


_Type = RedOpType


class ReduceOp:
    """A reduction: ``ReduceOp.SUM``, ``AVG``, ``PRODUCT``, ``MIN``, ``MAX``, ``BAND``,
    ``BOR``, ``BXOR``, or ``PREMUL_SUM``, which multiplies by a factor first.
    """

    RedOpType = RedOpType
    SUM: ClassVar[ReduceOp]
    AVG: ClassVar[ReduceOp]
    PRODUCT: ClassVar[ReduceOp]
    MIN: ClassVar[ReduceOp]
    MAX: ClassVar[ReduceOp]
    BAND: ClassVar[ReduceOp]
    BOR: ClassVar[ReduceOp]
    BXOR: ClassVar[ReduceOp]
    PREMUL_SUM: ClassVar[ReduceOp]

    def __init__(self, op: Any, factor: float = 1.0) -> None:
        self.op: _Type = op.op if isinstance(op, ReduceOp) else _Type(op)
        self.code, self.factor = int(self.op), factor

    def __eq__(self, other: object) -> bool:
        if isinstance(other, _Type):
            return self.op is other
        if not isinstance(other, ReduceOp):
            return NotImplemented
        return (self.op, self.factor) == (other.op, other.factor)

    def __hash__(self) -> int:
        return hash(self.op)

    def __repr__(self) -> str:
        return f"<RedOpType.{self.op.name}: {self.code}>"

    def __reduce__(self) -> Any:
        return ReduceOp, (self.op, self.factor)

    @property
    def name(self) -> str:
        """As in ``ReduceOp.SUM``."""
        return str(self.op.name)


for _type in RedOpType:
    setattr(ReduceOp, _type.name, ReduceOp(_type))


def _make_nccl_premul_sum(factor: Any) -> ReduceOp:
    """A sum of elements that each rank multiplies by its own factor."""
    return ReduceOp(RedOpType.PREMUL_SUM, float(factor))
