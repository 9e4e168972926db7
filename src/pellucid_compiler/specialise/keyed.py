"""Ops at one key: what derivation, naming and answers need to know.

A ``KeyedOp`` is a Graph under a schema. graphs.py has those that a plan runs,
pointwise.py those that an element kernel runs. Read next: derivatives.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from pellucid_compiler.abi.encode import Encodable
from pellucid_compiler.abi.records import PointwiseKey
from pellucid_compiler.codegen.kernel import Kernel
from pellucid_compiler.declare.key import Key
from pellucid_compiler.declare.schema import Schema
from pellucid_compiler.ir.expr import Expr
from pellucid_compiler.ir.graph import Graph
from pellucid_compiler.lower.registers import Source
from pellucid_compiler.specialise.requests import TensorPlace


@dataclass(frozen=True)
class ArgumentSource:
    """Where an argument of a derivative comes from: an argument, a result, its
    gradient, a saved value, the tangent of an input, or sizes.
    """

    origin: str
    index: int = 0
    element: int = -1


@dataclass(frozen=True)
class Derived:
    """The parts of an op's derivative; ``origins``: of its arguments."""

    reference: bytes
    schema: Schema
    key: Key
    graph: Graph
    places: Sequence[TensorPlace]
    sources: Mapping[str, Source]
    node: str
    origins: Sequence[ArgumentSource]
    differentiated: Graph | None


@dataclass(frozen=True, eq=False, kw_only=True)
class KeyedOp(ABC):
    """A Graph under a schema, for one key and one set of guards.

    ``reference`` names the op in requests: its full name, or the origin of a
    derivative; ``arguments`` are those of the request. ``places``: the argument of each
    tensor that the Graph reads; ``sources``: where the numbers are found in the call.
    ``node`` names the nodes that record its calls. ``promoted``: one bit per argument
    that the runtime promotes before it runs the op.
    """

    broadcasts: ClassVar[bool]
    """Whether operands and gradients have the shape of all operands together."""

    reference: Encodable
    schema: Schema
    kind: str
    arguments: Encodable
    key: Key
    graph: Graph
    places: Sequence[TensorPlace]
    sources: Mapping[str, Source]
    node: str
    guards: Mapping[Expr, bool] = field(default_factory=dict)
    promoted: int = 0

    @property
    def name(self) -> str:
        return self.schema.full_name

    @abstractmethod
    def specification(self) -> list[Any] | PointwiseKey:
        """The key under which the runtime finds the result of ``encoded``."""

    @abstractmethod
    def called_specification(self) -> list[Any]:
        """The items of the key under which the runtime finds derivatives."""

    @abstractmethod
    def identity(self) -> list[Encodable]:
        """What determines the Graph besides the reference."""

    @abstractmethod
    def encoded(self, kernels: dict[bytes, Kernel]) -> bytes:
        """What runs it; ``kernels`` collects what that calls."""

    @abstractmethod
    def keyed(self, kernels: dict[bytes, Kernel]) -> Encodable:
        """The record of its key and what runs it."""

    @abstractmethod
    def to_differentiate(self) -> Self:
        """The op whose Graph contains everything that its results depend on."""

    @abstractmethod
    def derived(self, parts: Derived) -> KeyedOp:
        """The op of a derivative, which runs in the same way."""
