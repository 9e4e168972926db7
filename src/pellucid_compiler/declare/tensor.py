"""The traced tensor: what a declaration's ``Tensor`` arguments are while its body runs.

Arithmetic on it is lifted element by element with broadcasting; ``x[i, j]`` is the
element at symbolic indices, to be used inside ``tabulate``. Read next: loops.py,
functions.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias, cast

from pellucid_compiler.abi.dtypes import raise_category
from pellucid_compiler.declare.tracing import knows, require, tracer
from pellucid_compiler.ir import dtypes
from pellucid_compiler.ir.build import all_axes, element, emit_map, padded_element
from pellucid_compiler.ir.expr import (
    Expr,
    ExprLike,
    as_expr,
    const,
    is_const,
    make,
    select,
)
from pellucid_compiler.ir.graph import Value

Operand: TypeAlias = "Tensor | Expr | bool | int | float | complex"


def save_for_backward(*values: Tensor) -> None:
    """Let the derivative read these values of the body, like the results.

    They are computed with the results, and saved, only if a gradient that reads them is
    recorded. A hand VJP receives them after the outputs; ``save_for_backward`` in the
    body of a called op counts as the caller's.
    """
    tracer().graph.saved += [tensor.value for tensor in values]


class Tensor:
    """A Value of the Graph being traced."""

    __slots__ = ("value",)

    __hash__ = object.__hash__

    def __init__(self, value: Value) -> None:
        self.value = value

    @property
    def shape(self) -> tuple[Expr, ...]:
        return self.value.shape

    @property
    def dtype(self) -> str:
        return self.value.dtype

    @property
    def rank(self) -> int:
        return self.value.rank

    @property
    def is_floating(self) -> bool:
        return dtypes.is_float(self.value.dtype)

    def __getitem__(self, index: ExprLike | Sequence[ExprLike]) -> Expr:
        """The element at ``index``: one integer per dim; out of bounds is an error."""
        return element(self.value, _as_place(index))

    def outside(self, fill: ExprLike) -> Padded:
        """``x.outside(0)[i, j]``: the element, or ``fill`` if the index is out of
        bounds.
        """
        return Padded(self, fill)

    def __repr__(self) -> str:
        return f"Tensor({self.dtype}{list(self.shape)})"

    def __bool__(self) -> bool:
        raise TypeError("a declaration cannot branch on a tensor; use where()")

    def __add__(self, other: Operand) -> Tensor:
        return _lift2("add", self, other)

    def __radd__(self, other: Operand) -> Tensor:
        return _lift2("add", other, self)

    def __sub__(self, other: Operand) -> Tensor:
        return _lift2("sub", self, other)

    def __rsub__(self, other: Operand) -> Tensor:
        return _lift2("sub", other, self)

    def __mul__(self, other: Operand) -> Tensor:
        return _lift2("mul", self, other)

    def __rmul__(self, other: Operand) -> Tensor:
        return _lift2("mul", other, self)

    def __truediv__(self, other: Operand) -> Tensor:
        return _lift2("div", self, other)

    def __rtruediv__(self, other: Operand) -> Tensor:
        return _lift2("div", other, self)

    def __floordiv__(self, other: Operand) -> Tensor:
        return _lift2("floordiv", self, other)

    def __mod__(self, other: Operand) -> Tensor:
        return _lift2("mod", self, other)

    def __pow__(self, other: Operand) -> Tensor:
        return _lift2("pow", self, other)

    def __neg__(self) -> Tensor:
        return _lift2("neg", self)

    def __abs__(self) -> Tensor:
        return _lift2("abs", self)

    def __lt__(self, other: Operand) -> Tensor:
        return _lift2("lt", self, other)

    def __le__(self, other: Operand) -> Tensor:
        return _lift2("le", self, other)

    def __gt__(self, other: Operand) -> Tensor:
        return _lift2("lt", other, self)

    def __ge__(self, other: Operand) -> Tensor:
        return _lift2("le", other, self)

    def __eq__(self, other: Operand) -> Tensor:  # type: ignore[override]
        return _lift2("eq", self, other)

    def __ne__(self, other: Operand) -> Tensor:  # type: ignore[override]
        return _lift2("ne", self, other)

    def __and__(self, other: Operand) -> Tensor:
        return _lift2("and", self, other)

    def __or__(self, other: Operand) -> Tensor:
        return _lift2("or", self, other)

    def __invert__(self) -> Tensor:
        return _lift2("not", self)


class Padded:
    """A tensor that has a value everywhere: its own inside, ``fill`` outside."""

    def __init__(self, tensor: Tensor, fill: ExprLike) -> None:
        self.tensor, self.fill = tensor, fill

    def __getitem__(self, index: ExprLike | Sequence[ExprLike]) -> Expr:
        return padded_element(self.tensor.value, _as_place(index), self.fill)


def _as_place(index: ExprLike | Sequence[ExprLike]) -> Sequence[ExprLike]:
    return index if isinstance(index, (tuple, list)) else (cast("ExprLike", index),)


def _lift2(op: str, *operands: Operand) -> Tensor:
    return cast("Tensor", lift(lambda *args: make(op, *args), *operands))


# ------------------------------------------------------------------ broadcasting


def is_one(size: Expr) -> bool | None:
    """Whether a size is 1, recorded as a guard; None if it depends on data."""
    return knows(size == 1)


def broadcast_sizes(
    a: Expr, b: Expr, error: type[Exception] = RuntimeError, dim: int = 0
) -> Expr:
    """The common size of two dims, which become dim ``dim`` of the result; guards
    record which of them are 1.
    """
    if a is b or is_const(b, 1):
        return a
    if is_const(a, 1):
        return b
    first, second = is_one(a), is_one(b)
    if first:
        return b
    if second:
        return a
    message = (
        "The size of tensor a ({}) must match the size of tensor b ({}) at "
        f"non-singleton dimension {dim}: sizes that broadcast are equal or 1"
    )
    if first is None or second is None:
        require((a == b) | (a == 1) | (b == 1), message, a, b, error=error)
        return select(a == 1, b, a)
    require(a == b, message, a, b, error=error)
    return a


def common_dtype(first: Tensor, second: Tensor) -> str:
    """The dtype of both if neither promotion nor a number decides: a 0-d tensor only
    raises the other's category.
    """
    if bool(first.shape) == bool(second.shape):
        return dtypes.promote(first.dtype, second.dtype)
    deciding, other = (first, second) if first.shape else (second, first)
    common = raise_category(deciding.dtype, other.dtype)
    return common or dtypes.promote(
        first.dtype, second.dtype
    )  # which says what is wrong


def broadcast_shapes(
    *shapes: Sequence[Expr], error: type[Exception] = RuntimeError
) -> tuple[Expr, ...]:
    """The shape that all of ``shapes`` expand to, aligned at the last dim."""
    rank = max(len(shape) for shape in shapes)
    out: list[Expr] = [const(1, "int64")] * rank
    for shape in shapes:
        for k in range(1, len(shape) + 1):
            out[-k] = broadcast_sizes(out[-k], shape[-k], error, rank - k)
    return tuple(out)


def broadcast_element(x: Operand, point: Sequence[Expr], shape: Sequence[Expr]) -> Expr:
    """The element of ``x`` at a point of the broadcast ``shape``; numbers are returned
    unchanged.
    """
    if not isinstance(x, Tensor):
        return as_expr(x)
    offset = len(point) - x.rank
    place: list[Expr] = []
    for i, n, full in zip(point[offset:], x.shape, shape[offset:], strict=True):
        one = False if n is full else is_one(n)
        if one is None:
            place.append(select(n == 1, 0, i))
        else:
            place.append(const(0, "int64") if one else i)
    return x[place]


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float, complex)) and not isinstance(x, bool)


def lift(fn: Callable[..., Any], *operands: Any) -> Any:
    """``fn`` of scalars applied to every element of the broadcast operands.

    Operands are Tensors, Exprs and numbers; anything else is passed to ``fn``
    unchanged. Without any Tensor the result is ``fn``'s own; a ``fn`` that returns a
    tuple yields a tuple of Tensors.
    """
    tensors = [x for x in operands if isinstance(x, Tensor)]
    if not tensors:
        return fn(*(as_expr(x) if _is_number(x) else x for x in operands))
    for _ in range(2):  # the first round may equate sizes
        shape = broadcast_shapes(*(t.shape for t in tensors))

    def apply(*point: Expr) -> Any:
        return fn(
            *(
                broadcast_element(x, point, shape)
                if isinstance(x, Tensor)
                else as_expr(x)
                if _is_number(x)
                else x
                for x in operands
            )
        )

    results = apply(*all_axes(len(shape)))
    here = tracer()
    graph = here.graph
    if not isinstance(results, tuple):
        body = here.with_checks(results)
        return Tensor(emit_map(graph, shape, lambda *p: body))
    results = (here.with_checks(results[0]), *results[1:])
    return tuple(Tensor(emit_map(graph, shape, lambda *p, r=r: r)) for r in results)


def tensors_in(values: Iterable[Any]) -> Iterable[Tensor]:
    """The tensors among arguments, those in lists too."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tensors_in(value)


def map_tensors(values: Any, fn: Callable[[Tensor], Tensor]) -> Any:
    """Arguments with ``fn`` of each tensor among them."""
    if isinstance(values, Tensor):
        return fn(values)
    if isinstance(values, (list, tuple)):
        return type(values)(map_tensors(v, fn) for v in values)
    return values
