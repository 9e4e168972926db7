"""ScalarFunction: a pointwise op for one key, as expressions of its operands' elements.

The runtime's pointwise handler promotes, broadcasts and casts; what it calls is a
kernel of a ScalarFunction, in which neither rank nor shape appears. Its VJP and JVP are
ScalarFunctions again, so derivatives of every order are kernels of the same form.
``load(k, ())`` is the element of operand k, ``sym(name)`` a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pellucid_compiler.ir.dtypes import is_float
from pellucid_compiler.ir.expr import (
    Expr,
    cast,
    const,
    intern_expr,
    load,
    loads,
    make,
    rewrite,
    substitute,
    sym,
    symbols,
    walk,
)
from pellucid_compiler.ir.graph import Requirement
from pellucid_compiler.ir.partials import Slopes, partials, pulled_back, times
from pellucid_compiler.ir.show import short_dtype, show_expr

_PLAIN = ("load", "const", "cast")


class Operand(NamedTuple):
    """Where an operand of a derivative comes from: ``input``, ``output``, ``grad`` or
    ``tangent`` number ``position`` of the function that was differentiated."""

    role: str
    position: int


class ScalarFunction(NamedTuple):
    """Outputs, one per result tensor, in the elements of ``inputs`` and the
    ``params``.

    ``requirements``, of numbers or of elements, are the declaration's; derivatives have
    none, for the forward op has checked them.
    """

    inputs: tuple[str, ...]
    params: tuple[tuple[str, str], ...]
    outputs: tuple[Expr, ...]
    requirements: tuple[Requirement, ...] = ()

    @property
    def output_dtypes(self) -> tuple[str, ...]:
        return tuple(e.dtype for e in self.outputs)

    def __repr__(self) -> str:
        operands = [f"x{k}: {short_dtype(d)}" for k, d in enumerate(self.inputs)]
        operands += [f"{name}: {short_dtype(d)}" for name, d in self.params]
        results = [f"{short_dtype(e.dtype)} {show_expr(e)}" for e in self.outputs]
        return f"({', '.join(operands)}) -> {'; '.join(results)}"


class Derivative(NamedTuple):
    """A derivative with the origin of each of its operands; ``outputs`` tells which
    gradient (VJP) or tangent (JVP) each of its results is."""

    function: ScalarFunction
    operands: tuple[Operand, ...]
    outputs: tuple[int, ...]


def element_of(position: int, dtype: str) -> Expr:
    """The element of operand ``position``."""
    return load(position, (), dtype)


def vjp(function: ScalarFunction, needs_grad: Sequence[bool]) -> Derivative:
    """(operands, outputs, gradients of the float outputs) -> one gradient per needed
    operand.

    Gradients have the full, broadcast shape; summing to an operand's own shape is the
    handler's work. Operands that no gradient reads are left out.
    """
    n, m = len(function.inputs), len(function.outputs)
    grads = {k: element_of(n + m + k, e.dtype) for k, e in _float_outputs(function)}
    totals: dict[int, Expr] = {}
    for k, e in _float_outputs(function):
        slopes = partials(e, lambda leaf: needs_grad[leaf.attr])
        for leaf, term in pulled_back(e, slopes, grads[k]):
            read = cast(_reading_outputs(function, term), leaf.dtype)
            old = totals.get(leaf.attr)
            totals[leaf.attr] = read if old is None else old + read
    wanted = [
        k
        for k, needed in enumerate(needs_grad)
        if needed and is_float(function.inputs[k])
    ]
    zero = [totals.get(k, const(0, function.inputs[k])) for k in wanted]
    return _compressed(function, zero, wanted, "grad")


def jvp(function: ScalarFunction, moving: Sequence[bool]) -> Derivative:
    """(operands, outputs, tangents of the moving operands) -> tangents of float
    outputs.
    """
    n, m = len(function.inputs), len(function.outputs)
    results, which = [], []
    for k, e in _float_outputs(function):
        slopes = partials(e, lambda leaf: moving[leaf.attr])
        total = cast(_tangent(slopes, n + m), e.dtype)
        results.append(_reading_outputs(function, total))
        which.append(k)
    return _compressed(function, results, which, "tangent")


def _tangent(slopes: Slopes, first: int) -> Expr:
    total: Expr = const(0.0)
    for (leaf, conjugated), slope in slopes.items():
        moved = element_of(first + leaf.attr, leaf.dtype)
        total = total + times(slope, make("conj", moved) if conjugated else moved)
    return total


def _float_outputs(function: ScalarFunction) -> list[tuple[int, Expr]]:
    return [(k, e) for k, e in enumerate(function.outputs) if is_float(e.dtype)]


def _reading_outputs(function: ScalarFunction, term: Expr) -> Expr:
    """``term`` reading the saved outputs wherever it contains their forward bodies."""
    n = len(function.inputs)
    found = set(walk(term))
    replacement: dict[Expr, Expr] = {}
    for k, body in enumerate(function.outputs):
        if body.op in ("load", "const", "select"):
            continue
        out = element_of(n + k, body.dtype)
        inner = body.args[0] if body.op == "cast" else body
        if body in found:
            replacement[body] = out
        elif inner in found and is_float(inner.dtype) and inner.op not in _PLAIN:
            replacement[inner] = cast(out, inner.dtype)
    return substitute(term, replacement) if replacement else term


def _compressed(
    function: ScalarFunction, results: list[Expr], which: list[int], role: str
) -> Derivative:
    """The derivative over the operands that it reads, renumbered."""
    n, m = len(function.inputs), len(function.outputs)
    compressed, used = _over_what_is_read(results, function.params)
    operands = []
    for old in used:
        if old < n:
            operands.append(Operand("input", old))
        elif old < n + m:
            operands.append(Operand("output", old - n))
        else:
            operands.append(Operand(role, old - n - m))
    return Derivative(compressed, tuple(operands), tuple(which))


def _over_what_is_read(
    results: Sequence[Expr], params: Sequence[tuple[str, str]]
) -> tuple[ScalarFunction, list[int]]:
    """The function of the operands that ``results`` read, renumbered, and which those
    are.
    """
    used = sorted({e.attr for e in loads(*results)})
    dtype_of = {e.attr: e.dtype for e in loads(*results)}
    renumber = {old: new for new, old in enumerate(used)}

    def leaf(e: Expr, args: tuple[Expr, ...]) -> Expr | None:
        if e.op != "load":
            return None
        return intern_expr("load", args, renumber[e.attr], e.dtype)

    memo: dict[Expr, Expr] = {}
    outputs = tuple(rewrite(e, leaf, memo) for e in results)
    names = {s.attr for s in symbols(*outputs)}
    read = tuple(p for p in params if p[0] in names)
    inputs = tuple(dtype_of[old] for old in used)
    return ScalarFunction(inputs, read, outputs), used


def with_numbers(function: ScalarFunction, known: dict[str, int]) -> ScalarFunction:
    """``function`` where the parameters in ``known`` have these values."""
    values = {
        sym(name, dtype): const(known[name], dtype)
        for name, dtype in function.params
        if name in known
    }
    params = tuple(p for p in function.params if p[0] not in known)
    outputs = tuple(substitute(e, values) for e in function.outputs)
    return ScalarFunction(function.inputs, params, outputs)


def split_passed(derivative: Derivative) -> tuple[Derivative, list[tuple[int, int]]]:
    """A VJP without the results that are a gradient as it came, and those: the number
    of the gradient, and whose gradient it is.
    """
    function = derivative.function
    passed, kept = [], []
    for k, (e, which) in enumerate(
        zip(function.outputs, derivative.outputs, strict=True)
    ):
        if e.op == "load" and derivative.operands[e.attr].role == "grad":
            passed.append((derivative.operands[e.attr].position, which))
        else:
            kept.append(k)
    computed, used = _over_what_is_read(
        [function.outputs[k] for k in kept], function.params
    )
    operands = tuple(derivative.operands[k] for k in used)
    outputs = tuple(derivative.outputs[k] for k in kept)
    return Derivative(computed, operands, outputs), passed
