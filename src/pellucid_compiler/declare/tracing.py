"""The state of a trace: the Graph being built, and the questions asked on the way.

A trace is a stack of ``Tracer``s, since the step of a scan or a hand rule is a Graph of
its own. Each thread has a stack, so threads trace at once. ``ask`` and ``require`` are
what an op body may say about sizes and numbers. Called by every module of declare.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from pellucid_compiler.ir.expr import (
    Check,
    Expr,
    ExprLike,
    as_expr,
    checked,
    is_loaded,
    symbols,
)
from pellucid_compiler.ir.graph import Graph, Requirement
from pellucid_compiler.ir.sizes import size_value


class Questions:
    """Actual sizes and numbers of the call being traced, and the answers given from
    them.

    Each answered question is a guard: the Graph serves calls that answer it alike.
    """

    def __init__(self, hints: Mapping[str, Any]) -> None:
        self.hints = hints
        self.guards: dict[Expr, bool] = {}

    def answer(self, condition: Expr) -> bool | None:
        """True or False, or None if it depends on a count that only the data
        will tell.
        """
        if condition.op == "const":
            return bool(condition.attr)
        if any(symbol.attr not in self.hints for symbol in symbols(condition)):
            return None
        found = bool(size_value(condition, self.hints))
        self.guards[condition] = found
        return found


class Tracer:
    """One Graph under construction; ``depth`` counts the loop axes around a body.

    ``of_elements`` are the preconditions that the body of elements in hand has stated.
    """

    def __init__(self, graph: Graph, questions: Questions) -> None:
        self.graph = graph
        self.questions = questions
        self.depth = 0
        self.of_elements: list[tuple[Expr, Check]] = []

    def with_checks(self, value: ExprLike) -> ExprLike:
        """The result of a body of elements with what the body has stated of them."""
        for condition, check in self.of_elements:
            value = checked(value, condition, check)
        self.of_elements.clear()
        return value


class _ThreadState(threading.local):
    """What a thread traces, the innermost last, and for which default dtypes."""

    def __init__(self) -> None:
        self.tracers: list[Tracer] = []
        self.default_dtypes = ["float32"]


_state: Final = _ThreadState()


def tracer() -> Tracer:
    """The innermost trace of this thread."""
    tracers = _state.tracers
    if not tracers:
        raise RuntimeError(
            "this function builds a Graph and runs while an op is traced only; call "
            "the op through its trace() or from another op's body"
        )
    return tracers[-1]


@contextmanager
def tracing(graph: Graph, questions: Questions | None = None) -> Iterator[Tracer]:
    """Build ``graph`` in this block; the questions go to the enclosing trace's."""
    found = Tracer(graph, questions or tracer().questions)
    _state.tracers.append(found)
    try:
        yield found
    finally:
        _state.tracers.pop()


def ask(condition: ExprLike) -> bool:
    """The answer to a question of sizes and numbers; it becomes a guard of the key."""
    answer = knows(condition)
    if answer is None:
        raise TypeError(
            f"ask({condition}): the answer depends on data.\nUse where() instead."
        )
    return answer


def knows(condition: ExprLike) -> bool | None:
    """As ``ask``, but None where only the data will tell."""
    asked = as_expr(condition)
    answer = tracer().questions.answer(asked)
    if answer:
        graph = tracer().graph
        graph.sizes.add(asked)
        graph.respell_inputs()
    return answer


def require(
    condition: ExprLike,
    message: str,
    *given: ExprLike,
    error: type[Exception] = RuntimeError,
) -> None:
    """State a precondition of sizes and numbers, checked before the op runs.

    ``message`` is a format string for the values of ``given``: what was given, what was
    expected, what to do. What the key alone decides is raised at once. In a body of
    elements it may be one of these, without ``given``: it goes with the body's first
    result, and the kernel that computes this checks it in the same pass.
    """
    holds = as_expr(condition)
    values = tuple(as_expr(e) for e in given)
    if holds.op == "const":
        if not holds.attr:
            known = (e.attr if e.op == "const" else _hint(e) for e in values)
            raise error(message.format(*known))
        return
    if is_loaded(holds):
        tracer().of_elements.append((holds, Check(error, message)))
        return
    requirement = Requirement(holds, message, values, error)
    graph = tracer().graph
    graph.require(requirement)
    graph.respell_inputs()


def _hint(e: Expr) -> Any:
    return size_value(e, tracer().questions.hints)


def default_dtype() -> str:
    """The dtype of floating-point results that no argument decides; it joins
    the key.
    """
    return _state.default_dtypes[-1]


@contextmanager
def with_default_dtype(dtype: str) -> Iterator[None]:
    """Trace with another default dtype: the caller keys the result by it."""
    _state.default_dtypes.append(dtype)
    try:
        yield
    finally:
        _state.default_dtypes.pop()
