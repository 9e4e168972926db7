"""Gradients of pointwise ops as the ops that their traced functions consist of.

A derivative of a pointwise op is a function of one element of each operand. Where modes
watch, it runs here one op after another on whole tensors: they see ``mul``, ``neg`` and
``div`` in place of one op without a name. There is no table of formulas: the function
is the one that the derivative's kernel is compiled from, with its casts: halves are
float32 between the first op and the last. A scalar op's row says what it is of tensors
(``emitted``, ``with_number``). Used by derivatives.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import pellucid
from pellucid import _C, Tensor
from pellucid._C._runtime.tracing import derivative_elements
from pellucid._decomp.registry import unseen
from pellucid._ops import OpOverload, ops

if TYPE_CHECKING:
    from pellucid_compiler.ir.expr import Expr


def chosen(condition: Any, a: Any, b: Any) -> Any:
    """One of two tensors or numbers, by a tensor or a number."""
    if isinstance(condition, Tensor):
        return pellucid.where(condition.to(pellucid.bool), a, b)
    return a if condition else b  # of numbers alone


_LEAVES = ("const", "sym", "load", "cast")
_MOST_STEPS = 64


@lru_cache(None)
def emitted(op: OpOverload) -> Callable[[tuple[Any, ...]], list[Tensor]] | None:
    """A function of the derivative op's arguments that gives what it gives, by other
    ops. None for functions of many steps, as Bessel functions are, and for scalar ops
    that are not functions of tensors.
    """
    found = derivative_elements(op.name())
    if found is None:
        return None
    bodies, names = found
    from pellucid_compiler.ir.traversal import walk

    steps = walk(*bodies)
    if len(steps) > _MOST_STEPS or not all(map(_is_known, steps)):
        return None
    for_tensors = _numbers_for_tensors(op)
    keeps_width = _is_one_step(steps)
    # Of several operands PyTorch's formulas multiply: ``self * self + other * other``.
    of_one_operand = len({e.attr for e in steps if e.op == "load"}) <= 2

    def run(args: tuple[Any, ...]) -> list[Tensor]:
        tensors = [a for a in args if isinstance(a, Tensor)]
        full = pellucid.broadcast_shapes(*(t.shape for t in tensors))
        like = next(t for t in tensors if t.is_floating_point() or t.is_complex())
        call = _Call(args, names, for_tensors, keeps_width, of_one_operand, values={})
        values = (_value(e, call) for e in bodies)
        return [_like(value, full, like) for value in values]

    return run


@dataclass
class _StandIn:
    """What specialisation asks of a tensor."""

    dtype: str
    ndim: int
    shape: tuple[int, ...]


def run_elements(op: Any, args: Sequence[Any], kwargs: Any) -> list[Tensor] | None:
    """A declared pointwise op by the ops that its function consists of. None for
    functions of many steps, and where elements are checked.
    """
    from pellucid_compiler.declare.key import bind_arguments
    from pellucid_compiler.ir.elements import element_bodies
    from pellucid_compiler.ir.traversal import walk
    from pellucid_compiler.specialise.pointwise import declared_pointwise

    given = bind_arguments(op.schema, args, kwargs)
    at_key = declared_pointwise(op, [_stand_in(value) for value in given])
    bodies = element_bodies(at_key.graph)
    steps = walk(*bodies)
    is_known = len(steps) <= _MOST_STEPS and all(map(_is_known, steps))
    if not is_known or not at_key.places:
        return None
    tensors = [given[place.argument] for place in at_key.places]
    full = pellucid.broadcast_shapes(*(t.shape for t in tensors))
    dtypes = [getattr(pellucid, value.dtype) for value in at_key.graph.inputs]
    operands = [t.to(dtype) for t, dtype in zip(tensors, dtypes, strict=True)]
    numbers = at_key.number_arguments()
    names = {name: len(tensors) + k for k, name in enumerate(numbers)}
    call = _Call(
        (*operands, *(given[k] for k in numbers.values())),
        *(names, frozenset(), _is_one_step(steps), False),
        values={},
    )
    found = [_like(_value(body, call), full, operands[0]) for body in bodies]
    results = [getattr(pellucid, value.dtype) for value in at_key.graph.outputs]
    return [t.to(dtype) for t, dtype in zip(found, results, strict=True)]


def _stand_in(value: Any) -> Any:
    if not isinstance(value, Tensor):
        return value
    dtype = str(value.dtype).removeprefix("torch.")
    return _StandIn(dtype, value.dim(), (1,) * value.dim())


def _numbers_for_tensors(op: OpOverload) -> frozenset[int]:
    """The arguments that are tensors in the forward op's schema: a number given for one
    is seen as a tensor.
    """
    _, forward, sources, *_ = _C._derived_from(op.name())
    declared = forward._schema.arguments
    return frozenset(
        k
        for k, (source, index, _) in enumerate(sources)
        if source == "argument" and "Tensor" in declared[index].type
    )


def _is_known(e: Expr) -> bool:
    return e.op in _LEAVES or meaning(e.op) is not None


def meaning(name: str) -> Callable[..., Any] | None:
    """A scalar op on whole tensors."""
    if name == "select":
        return chosen
    if name == "with_partials":
        return lambda x, *slopes: x
    from pellucid_compiler.ir.scalar_ops import SCALAR_OPS

    row = SCALAR_OPS.get(name)
    if row is not None and row.emitted is not None:
        return partial(row.emitted, pellucid)
    found: Callable[..., Any] | None = getattr(pellucid, name, None)
    return found


class _Call(NamedTuple):
    """A derivative's arguments, where the named ones stand, and what is known of it."""

    args: tuple[Any, ...]
    names: dict[str, int]
    for_tensors: frozenset[int]
    keeps_width: bool
    squares_by_power: bool
    values: dict[Expr, Any]


def _value(e: Expr, call: _Call) -> Any:
    if e not in call.values:
        call.values[e] = _computed(e, call)
    return call.values[e]


def _computed(e: Expr, call: _Call) -> Any:
    if e.op == "const":
        return e.attr
    if e.op in ("sym", "load"):
        return call.args[call.names[e.attr] if e.op == "sym" else e.attr]
    name, parts = as_pytorch_writes(e, call.squares_by_power)
    operands = [_value(a, call) for a in parts]
    if e.op == "cast":
        return _cast(operands[0], e.dtype, call.keeps_width)
    by_number = _by_number(name, parts, operands, call)
    if by_number is not None:
        return by_number
    run = meaning(name)
    assert run is not None
    if any(isinstance(x, Tensor) for x in operands):
        return run(*operands)
    with unseen():  # numbers alone, of which Python refuses some (1 / 0)
        return run(*map(wide_scalar, operands)).item()


def _by_number(
    name: str, parts: Sequence[Expr], operands: Sequence[Any], call: _Call
) -> Tensor | None:
    """``by_number``, but for a number that the program gave for a tensor."""
    for part in parts:
        while part.op == "cast":
            part = part.args[0]
        if part.op == "sym" and call.names[part.attr] in call.for_tensors:
            return None
    return by_number(name, operands)


def by_number(name: str, operands: Sequence[Any]) -> Tensor | None:
    """A scalar op on a tensor and a number, by the overload for numbers; None where it
    has none.
    """
    from pellucid_compiler.ir.scalar_ops import SCALAR_OPS

    if len(operands) != 2 or sum(isinstance(x, Tensor) for x in operands) != 1:
        return None
    number_first = isinstance(operands[1], Tensor)
    row = SCALAR_OPS.get(name)
    overloads = row.with_number[number_first:] if row else ()
    if not overloads:
        return None
    tensor, value = reversed(operands) if number_first else operands
    packet, overload = overloads[0].split(".")
    result: Tensor = getattr(getattr(ops.aten, packet), overload)(tensor, value)
    return result


def wide_scalar(value: complex) -> Tensor:
    """A number as a tensor of the widest dtype of its kind."""
    is_complex = isinstance(value, complex)
    dtype = pellucid.complex128 if is_complex else pellucid.float64
    return pellucid.scalar_tensor(value, dtype=dtype)


def as_pytorch_writes(
    e: Expr, squares_by_power: bool = False
) -> tuple[str, tuple[Expr, ...]]:
    """The scalar op and operands of ``e`` as PyTorch's formulas of gradients have them:
    ``grad / b`` for ``(1 / b) * grad``, ``grad / (2 b)`` for ``(0.5 / b) * grad``, and
    ``-grad * n`` for ``-n * grad`` with a number; with ``squares_by_power`` also
    ``x ** 2`` for ``x * x`` and ``-(x ** 2)`` for ``-x * x``.
    """
    from pellucid_compiler.ir.expr import const, is_loaded, make

    if e.op != "mul":
        return e.op, e.args
    first, second = e.args
    if squares_by_power and is_loaded(first):
        if first is second:
            return "pow", (first, const(2))
        if first.op == "neg" and first.args[0] is second:
            return "neg", (make("mul", second, second),)
    is_conjugate = first.op == "conj"
    factor = first.args[0] if is_conjugate else first

    def conjugated(x: Expr) -> Expr:
        return make("conj", x) if is_conjugate else x

    if factor.op == "neg" and not is_loaded(factor):
        return "mul", (make("neg", second), conjugated(factor.args[0]))
    if factor.op == "div":
        numerator, divisor = factor.args[0], conjugated(factor.args[1])
        if numerator.op == "const" and numerator.attr in (0.5, 1):
            return "div", (second, divisor * 2 if numerator.attr == 0.5 else divisor)
    return "mul", e.args


def _is_one_step(steps: Sequence[Expr]) -> bool:
    """Whether ops on operands of one dtype round as the function does, so that the
    casts around it need not be seen: one op does, and a change of sign.
    """
    from pellucid_compiler.ir.expr import is_loaded

    loads = {e.dtype for e in steps if e.op == "load"}
    rounding = [e for e in steps if e.op not in (*_LEAVES, "neg") and is_loaded(e)]
    return len(loads) == 1 and len(rounding) <= 1


def _cast(value: Any, dtype: str, keeps_width: bool) -> Any:
    """Numbers are as wide as what they meet."""
    from pellucid_compiler.ir.dtypes import is_complex, is_float

    if not isinstance(value, Tensor) or dtype.startswith("weak"):
        return value
    known = value.is_floating_point(), value.is_complex()
    kind = is_float(dtype) and not is_complex(dtype), is_complex(dtype)
    return (
        value if keeps_width and known == kind else value.to(getattr(pellucid, dtype))
    )


def _like(value: Any, shape: Any, like: Tensor) -> Tensor:
    """A result as the derivative op gives it: of the operands' broadcast shape."""
    if not isinstance(value, Tensor):
        value = pellucid.scalar_tensor(value, dtype=like.dtype)
    found: Tensor = value if value.shape == shape else value.expand(shape)
    return found
