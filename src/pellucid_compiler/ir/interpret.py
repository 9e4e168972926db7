"""The interpreter of Graphs: their meaning, by NumPy, one node after the other.

Tests compare every transform and every kernel with it. Sizes are bound from the
arguments' shapes: a size symbol occurs in the shape of the input that has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pellucid_compiler.ir.dtypes import stored_dtype
from pellucid_compiler.ir.evaluate import evaluate, storage_dtype
from pellucid_compiler.ir.expr import Expr, axis, load
from pellucid_compiler.ir.graph import Graph, Requirement, Value
from pellucid_compiler.ir.sizes import shape_value, size_value
from pellucid_compiler.ir.traversal import rewrite


def run(
    graph: Graph, args: Sequence[Any], env: dict[str, Any] | None = None
) -> list[Any]:
    """The outputs of ``graph`` for array arguments; ``env`` has numbers by name."""
    env = {} if env is None else dict(env)
    for value, arg in zip(graph.inputs, args, strict=True):
        bind_sizes(value, arg.shape, env)
    return run_checked(graph, args, env)


def bind_sizes(value: Value, shape: Sequence[int], env: dict[str, Any]) -> None:
    """Bind the sizes in ``value``'s shape; a contradiction raises."""
    if len(shape) != value.rank:
        raise ValueError(f"{value} was given an array of rank {len(shape)}")
    for size, actual in zip(value.shape, shape, strict=True):
        if size.op == "sym":
            env.setdefault(size.attr, actual)


def check_requirement(requirement: Requirement, env: dict[str, Any]) -> bool:
    """Raise if it does not hold; False if it needs a count not known yet."""
    try:
        holds = size_value(requirement.condition, env)
    except KeyError:
        return False
    if not holds:
        given = (size_value(e, env) for e in requirement.given)
        raise requirement.error(requirement.message.format(*given))
    return True


def run_checked(graph: Graph, args: Sequence[Any], env: dict[str, Any]) -> list[Any]:
    """Like ``run``, with every size and number already in ``env``."""
    later = [r for r in graph.requirements if not check_requirement(r, env)]
    results = run_nodes(graph, args, env)
    for requirement in later:
        check_requirement(requirement, env)
    return results


def run_nodes(graph: Graph, args: Sequence[Any], env: dict[str, Any]) -> list[Any]:
    """Like ``run_checked``, without the preconditions."""
    values = dict(zip(graph.inputs, args, strict=True))
    for node in graph.nodes:
        inputs = [values[v] for v in node.inputs]
        results = node.primitive.evaluate(node, inputs, env)
        for value, result in zip(node.outputs, results, strict=True):
            _check_result(graph, value, result, env)
            values[value] = result
    return [values[v] for v in graph.outputs]


def _check_result(graph: Graph, value: Value, result: Any, env: dict[str, Any]) -> None:
    expected = shape_value(value.shape, env)
    if result.shape != expected or str(result.dtype) != storage_dtype(value.dtype):
        raise AssertionError(
            f"{graph.name}: a node gave {result.dtype}{list(result.shape)} where its "
            f"rule says {value.dtype}{list(expected)}"
        )


def run_elements(
    outputs: Sequence[Expr], arrays: Sequence[Any], env: dict[str, Any] | None = None
) -> list[Any]:
    """Expressions of single elements (``load(k, ())``) over broadcast arrays.

    This defines a pointwise kernel; results have the expressions' dtypes.
    """
    import numpy as np

    full = np.broadcast_arrays(*arrays)
    shape = full[0].shape
    flat = [a.ravel() for a in full]
    memo: dict[Expr, Expr] = {}

    def leaf(e: Expr, args: tuple[Expr, ...]) -> Expr | None:
        return load(e.attr, (axis(0),), e.dtype) if e.op == "load" else None

    found = []
    for e in outputs:
        indexed = rewrite(e, leaf, memo)
        value = evaluate(indexed, env, [np.arange(flat[0].size)], flat)
        value = np.broadcast_to(value, flat[0].shape).reshape(shape)
        found.append(np.asarray(value, storage_dtype(stored_dtype(e.dtype))))
    return found
