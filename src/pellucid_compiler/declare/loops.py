"""Loops as comprehensions: ``tabulate``, ``total`` and its like, ``scatter``, ``scan``.

    tabulate([n, m], lambda i, j: total([k], lambda t: a[i, t] * b[t, j]))

is a matrix product. A body receives loop indices and returns an element, or a reduction
of elements. Read next: functions.py, helpers.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from pellucid_compiler.declare.tensor import Tensor
from pellucid_compiler.declare.tracing import tracer, tracing
from pellucid_compiler.ir.build import emit_loop, emit_reshape
from pellucid_compiler.ir.expr import Expr, ExprLike, as_expr, as_index, axis
from pellucid_compiler.ir.graph import Graph
from pellucid_compiler.ir.primitives import (
    LIBRARY,
    NONZERO,
    SCAN,
    LibraryAttrs,
    NonzeroAttrs,
    ScanAttrs,
    Store,
)

Body = Callable[..., Any]


class Reduction(NamedTuple):
    """What a body returns if its element combines many: ``total(extents, body)``."""

    combine: str
    extents: tuple[Expr, ...]
    body: Expr
    payload: Expr | None = None


def reduction(combine: str) -> Callable[[Sequence[ExprLike], Body], Reduction]:
    """The reducer ``reduce(extents, body)`` for use inside ``tabulate``."""

    def reduce(extents: Sequence[ExprLike], body: Body) -> Reduction:
        depth = tracer().depth
        found = body(*(axis(depth + k) for k in range(len(extents))))
        key, payload = found if isinstance(found, tuple) else (found, None)
        payload = None if payload is None else as_expr(payload)
        sizes = tuple(as_index(n) for n in extents)
        return Reduction(combine, sizes, as_expr(key), payload)

    return reduce


total = reduction("sum")
product = reduction("prod")
greatest = reduction("max")
least = reduction("min")
every = reduction("and")
some = reduction("or")
argmax_of = reduction(
    "argmax"
)  # body returns (key, what to store for the first greatest)
argmin_of = reduction("argmin")


def tabulate(shape: Sequence[ExprLike], body: Body) -> Tensor:
    """The tensor whose element at ``i, j, ...`` is ``body(i, j, ...)``."""
    return _loop(shape, shape, lambda *p: (p, body(*p)), "sum", None)


def tabulate_groups(
    shape: Sequence[ExprLike], body: Callable[..., Sequence[Expr]]
) -> Tensor:
    """The tensor whose last dim at ``i, j, ...`` holds the elements ``body(i, j,
    ...)``, computed together: all points have equally many.
    """
    extents = [as_index(n) for n in shape]
    point = [axis(k) for k in range(len(extents))]
    values = body(*point)
    stores = [Store((*point, as_index(k)), v) for k, v in enumerate(values)]
    sizes = [*extents, as_index(len(stores))]
    graph = tracer().graph
    made = emit_loop(graph, extents, stores, "assign", sizes, covered=True)
    return Tensor(made)


def scatter(
    shape: Sequence[ExprLike],
    extents: Sequence[ExprLike],
    body: Body,
    combine: str = "sum",
    into: Tensor | None = None,
    drop: bool = False,
) -> Tensor:
    """For every point: ``index, value = body(*point)``; combine value into
    ``out[index]``.

    Starts from ``into``, or from the combine's identity (zeros for ``assign``). With
    ``drop`` an index out of bounds stores nothing, otherwise it is an error.
    """
    return _loop(shape, extents, body, combine, into, drop)


def _loop(
    shape: Sequence[ExprLike],
    extents: Sequence[ExprLike],
    body: Body,
    combine: str,
    into: Tensor | None,
    drop: bool = False,
) -> Tensor:
    here = tracer()
    outer, here.depth = here.depth, len(extents)
    try:
        index, value = body(*(axis(k) for k in range(len(extents))))
    finally:
        here.depth = outer
    payload = None
    space = [as_index(n) for n in extents]
    if isinstance(value, Reduction):
        space += value.extents
        combine, payload, value = value.combine, value.payload, value.body
    body_ = as_expr(here.with_checks(value))
    store = Store(tuple(as_index(i) for i in index), body_, drop)
    init = None if into is None else into.value
    return Tensor(emit_loop(here.graph, space, [store], combine, shape, payload, init))


def reshape(x: Tensor, shape: Sequence[ExprLike]) -> Tensor:
    """The elements of ``x`` in row-major order under another shape with as many
    elements.
    """
    return Tensor(emit_reshape(tracer().graph, x.value, shape))


def scan(
    step: Callable[..., Tensor | tuple[Tensor, ...]],
    init: Tensor | Sequence[Tensor],
    sequences: Sequence[Tensor],
    reverse: bool = False,
    constants: Sequence[Tensor] = (),
) -> Any:
    """``carry = step(carry, *x[t], *constants)`` along the first dim; the stacked
    carries.

    ``init`` is one carry or several; the step returns as many, and may return more:
    tensors that are stacked too but not passed to the next step. Derivatives read such
    tensors instead of recomputing them.
    """
    carries = [init] if isinstance(init, Tensor) else list(init)
    graph = Graph("step")
    args = [Tensor(graph.input(c.shape, c.dtype)) for c in carries]
    args += [Tensor(graph.input(x.shape[1:], x.dtype)) for x in sequences]
    args += [Tensor(graph.input(c.shape, c.dtype)) for c in constants]
    with tracing(graph):
        out = step(*args)
        graph.outputs = [t.value for t in (out if isinstance(out, tuple) else (out,))]
    for requirement in graph.requirements:  # on sizes, which no step changes
        tracer().graph.require(requirement)
    graph.requirements = []
    attrs = ScanAttrs(
        graph.prune(), sequences[0].shape[0], reverse, len(carries), len(constants)
    )
    values = [t.value for t in (*carries, *sequences, *constants)]
    stacks = tuple(Tensor(v) for v in tracer().graph.emit(SCAN, values, attrs))
    return stacks[0] if isinstance(init, Tensor) and len(stacks) == 1 else stacks


def library(routine: str, *inputs: Tensor, **options: Any) -> tuple[Tensor, ...]:
    """The outputs of a library routine (see ``ir/primitives/library.py``)."""
    attrs = LibraryAttrs(routine, tuple(options.items()))
    values = [x.value for x in inputs]
    return tuple(Tensor(v) for v in tracer().graph.emit(LIBRARY, values, attrs))


def nonzero_of(mask: Tensor) -> Tensor:
    """The indices of the true elements of ``mask``, one row each."""
    graph = tracer().graph
    attrs = NonzeroAttrs(graph.fresh_count())
    return Tensor(graph.emit(NONZERO, [mask.value], attrs)[0])
