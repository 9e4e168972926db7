"""Derivatives of library routines, written in the op language."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pellucid_compiler.declare.tensor import Tensor
from pellucid_compiler.declare.tracing import Questions, tracing
from pellucid_compiler.ir.expr import Expr
from pellucid_compiler.ir.graph import Graph, OutputType, Value
from pellucid_compiler.ir.primitives.library import (
    LIBRARY,
    ROUTINES,
    JvpRule,
    LibraryAttrs,
    Routine,
)


def graph_rule(function: Callable[..., tuple[Tensor | None, ...]]) -> JvpRule:
    """A routine's JVP: ``function(*inputs, *outputs, *tangents)`` -> output tangents. A
    constant input or output has the tangent None.
    """

    def rule(
        graph: Graph,
        inputs: Sequence[Value],
        outputs: Sequence[Value],
        tangents: Sequence[Value | None],
        **options: Any,
    ) -> list[Value | None]:
        given = [*inputs, *outputs, *tangents]
        with tracing(graph, Questions({})):
            found = function(*(None if v is None else Tensor(v) for v in given))
        return [None if t is None else t.value for t in found]

    return rule


def linear_routine(
    name: str,
    infer: Callable[..., list[OutputType]],
    evaluate: Callable[..., list[Any]],
    transposed: Callable[..., Tensor],
    core: Callable[..., tuple[int, ...]],
) -> None:
    """Register a routine that is linear in its only operand, which is its own tangent.

    ``transposed(cotangent, shape, **options)`` returns the operand's cotangent, of
    shape ``shape``.
    """

    def jvp(
        graph: Graph,
        inputs: Sequence[Value],
        outputs: Sequence[Value],
        tangents: Sequence[Value | None],
        **options: Any,
    ) -> list[Value | None]:
        (tangent,) = tangents
        if tangent is None:
            return [None]
        attrs = LibraryAttrs(name, tuple(options.items()))
        return [*graph.emit(LIBRARY, [tangent], attrs)]

    transpose = transposed_rule(transposed)
    ROUTINES[name] = Routine(name, infer, evaluate, jvp, transpose, core)


def transposed_rule(function: Callable[..., Tensor]) -> Callable[..., Value]:
    """A routine's transpose: ``function(cotangent, shape, *others, **options)``."""

    def rule(
        graph: Graph,
        cotangent: Value,
        shape: tuple[Expr, ...],
        *others: Value,
        **options: Any,
    ) -> Value:
        with tracing(graph, Questions({})):
            given = [Tensor(v) for v in others]
            return function(Tensor(cotangent), shape, *given, **options).value

    return rule
