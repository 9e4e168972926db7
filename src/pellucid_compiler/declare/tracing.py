"""The state of a trace: the Graph being built, and the guards recorded.

A trace is a stack of ``Tracer``s, because the step of a scan or a hand rule is a
separate Graph. Each thread has a stack, so threads can trace concurrently. ``ask`` and
``require`` are how an op body tests sizes and numbers. Called by every module of
declare.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from pellucid_compiler.ir.expr import Check, Expr, ExprLike, as_expr, checked, is_loaded
from pellucid_compiler.ir.graph import Graph, Requirement
from pellucid_compiler.ir.sizes import size_value
from pellucid_compiler.ir.traversal import symbols


class Questions:
    """Actual sizes and numbers of the call being traced, and the answers computed from
    them.

    Each answer is a guard: the Graph serves calls with the same answers.
    """

    def __init__(self, hints: Mapping[str, Any]) -> None:
        self.hints = hints
        self.guards: dict[Expr, bool] = {}

    def answer(self, condition: Expr) -> bool | None:
        """True or False, or None if it depends on a count that depends on data."""
        if condition.op == "const":
            return bool(condition.attr)
        if any(symbol.attr not in self.hints for symbol in symbols(condition)):
            return None
        found = bool(size_value(condition, self.hints))
        self.guards[condition] = found
        return found


class Tracer:
    """One Graph under construction; ``depth`` counts the loop axes around a body.

    ``of_elements`` are the preconditions stated so far by the current body of elements.
    """

    def __init__(self, graph: Graph, questions: Questions) -> None:
        self.graph = graph
        self.questions = questions
        self.depth = 0
        self.of_elements: list[tuple[Expr, Check]] = []

    def with_checks(self, value: ExprLike) -> ExprLike:
        """The result of a body of elements with the checks that the body has stated."""
        for condition, check in self.of_elements:
            value = checked(value, condition, check)
        self.of_elements.clear()
        return value


class _ThreadState(threading.local):
    """A thread's traces, innermost last, and their default dtypes."""

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
    """The value of a condition on sizes and numbers; it becomes a guard of the key."""
    answer = knows(condition)
    if answer is None:
        raise TypeError(
            f"ask({condition}): the answer depends on data.\nUse where() instead."
        )
    return answer


def knows(condition: ExprLike) -> bool | None:
    """Like ``ask``, but None if it depends on data."""
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
    on_meta: bool = True,
) -> None:
    """State a precondition of sizes and numbers, checked before the op runs.

    ``message`` is a format string for the values of ``given``: what was given, what was
    expected, what to do. A condition determined by the key alone is raised at once. In
    a body of elements it may be one on elements, without ``given``: it is attached to
    the body's first result, and the kernel that computes this checks it in the same
    pass. Not ``on_meta``: tensors on Meta need not meet it.
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
    requirement = Requirement(holds, message, values, error, on_meta)
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
