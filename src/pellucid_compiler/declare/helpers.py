"""Compositions of loops that many declarations share: dims, reductions,
permutations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from pellucid_compiler.declare.functions import where
from pellucid_compiler.declare.loops import Reduction, greatest, least, tabulate, total
from pellucid_compiler.declare.tensor import Tensor, broadcast_element, lift
from pellucid_compiler.declare.tracing import require
from pellucid_compiler.ir.dtypes import (
    highest,
    is_complex,
    is_float,
    is_integer,
    is_real_float,
    is_signed,
    largest_number,
    lowest,
)
from pellucid_compiler.ir.expr import Expr, ExprLike, as_expr, cast, const, make

Reducer = Callable[[Sequence[ExprLike], Callable[..., Any]], Reduction]


def wrap_dim(dim: int, rank: int) -> int:
    """``dim`` counted from the front; a scalar has the dim 0."""
    span = max(rank, 1)
    require(
        -span <= dim < span,
        f"Dimension out of range (expected to be in range of [{-span}, {span - 1}], "
        f"but got {dim})",
        error=IndexError,
    )
    return dim % span


def sizes_text(x: Tensor) -> str:
    """The format of a shape in a message, to be filled with sizes: ``[{}, {}]``."""
    return f"[{', '.join(['{}'] * x.rank)}]"


def wrap_dims(dims: int | Sequence[int] | None, rank: int) -> list[int]:
    """The dims counted from the front, sorted; None and [] mean all of them."""
    if dims is None or (not isinstance(dims, int) and not len(dims)):
        return list(range(rank))
    given = [dims] if isinstance(dims, int) else list(dims)
    found = [wrap_dim(d, rank) for d in given]
    require(
        len(set(found)) == len(found),
        f"dim {given} names a dimension twice: give each one once",
    )
    return sorted(found) if rank else []


def over_dims(
    reduce: Reducer,
    x: Tensor,
    dims: int | Sequence[int] | None,
    keepdim: bool = False,
) -> Tensor:
    """``reduce`` of the elements over ``dims``; ``keepdim`` leaves them with size 1."""
    reduced = wrap_dims(dims, x.rank)
    remaining = [d for d in range(x.rank) if d not in reduced]
    shape = reduced_shape(x, reduced, keepdim)

    def outer(*point: Expr) -> Any:
        places = [point[d] for d in remaining] if keepdim else point
        fixed = dict(zip(remaining, places, strict=True))

        def inner(*free: Expr) -> Any:
            rest = dict(zip(reduced, free, strict=True))
            return x[[fixed[d] if d in fixed else rest[d] for d in range(x.rank)]]

        return reduce([x.shape[d] for d in reduced], inner) if reduced else inner()

    return tabulate(shape, outer)


def reduced_shape(x: Tensor, reduced: Sequence[int], keepdim: bool) -> list[Expr]:
    """The shape of a reduction of ``x`` over the dims ``reduced``."""
    if keepdim:
        return [const(1) if d in reduced else n for d, n in enumerate(x.shape)]
    return [n for d, n in enumerate(x.shape) if d not in reduced]


def total_over(
    x: Tensor, dims: int | Sequence[int] | None = None, keepdim: bool = False
) -> Tensor:
    """The sum over ``dims`` (None: all)."""
    return over_dims(total, x, dims, keepdim)


def greatest_over(
    x: Tensor, dims: int | Sequence[int] | None = None, keepdim: bool = False
) -> Tensor:
    """The maximum over ``dims`` (None: all)."""
    return over_dims(greatest, x, dims, keepdim)


def least_over(
    x: Tensor, dims: int | Sequence[int] | None = None, keepdim: bool = False
) -> Tensor:
    """The minimum over ``dims`` (None: all)."""
    return over_dims(least, x, dims, keepdim)


def mean_over(
    x: Tensor, dims: int | Sequence[int] | None = None, keepdim: bool = False
) -> Tensor:
    """The mean over ``dims`` (None: all)."""
    count = cast(num_elements(x, wrap_dims(dims, x.rank)), x.dtype)
    return total_over(x, dims, keepdim) / count


def num_elements(x: Tensor, dims: Sequence[int] | None = None) -> Expr:
    """The product of the sizes of ``dims`` (None: all)."""
    out: Expr = const(1, "int64")
    for d in range(x.rank) if dims is None else dims:
        out = out * x.shape[d]
    return out


def size_of(x: Tensor, dim: int) -> Expr:
    """The size of a dim; a scalar counts as one element."""
    return x.shape[dim] if x.rank else const(1, "int64")


def permute(x: Tensor, order: Sequence[int]) -> Tensor:
    """``x`` with its dims in another order: dim ``k`` of the result is ``order[k]``."""
    place = [list(order).index(d) for d in range(x.rank)]
    return tabulate(
        [x.shape[d] for d in order], lambda *p: x[[p[place[d]] for d in range(x.rank)]]
    )


def transpose_last(x: Tensor) -> Tensor:
    """``x`` with its last two dims swapped."""
    return permute(x, [*range(x.rank - 2), x.rank - 1, x.rank - 2])


def unsqueeze(x: Tensor, dim: int) -> Tensor:
    """``x`` with a dim of size 1 inserted at ``dim``."""
    shape = [*x.shape[:dim], const(1), *x.shape[dim:]]
    return tabulate(shape, lambda *p: x[[*p[:dim], *p[dim + 1 :]]])


def squeeze_dims(x: Tensor, dims: Sequence[int]) -> Tensor:
    """``x`` without ``dims``, which have size 1."""
    remaining = [d for d in range(x.rank) if d not in dims]
    return tabulate(
        [x.shape[d] for d in remaining],
        lambda *p: x[
            [p[remaining.index(d)] if d in remaining else 0 for d in range(x.rank)]
        ],
    )


def restore_dims(x: Tensor, dims: Sequence[int], rank: int) -> Tensor:
    """The inverse of ``squeeze_dims``: ``x`` with ``dims`` restored, with size 1."""
    remaining = [d for d in range(rank) if d not in dims]
    shape: list[Expr] = [const(1)] * rank
    for k, d in enumerate(remaining):
        shape[d] = x.shape[k]
    return tabulate(shape, lambda *p: x[[p[d] for d in remaining]])


def expand_to(x: Tensor, shape: Sequence[Expr]) -> Tensor:
    """``x`` broadcast to ``shape``."""
    return tabulate(shape, lambda *p: broadcast_element(x, p, shape))


def full(shape: Sequence[ExprLike], fill: ExprLike, dtype: str) -> Tensor:
    """A tensor filled with one value."""
    return tabulate(shape, lambda *p: cast(fill, dtype))


_UNBOUNDED: Final = ("float64", "float8_e4m3fn")  # which saturates


def require_fits(name: str, number: ExprLike, dtype: str) -> None:
    """Refuse a number whose conversion to ``dtype`` overflows.

    As in PyTorch, uint8 accepts negative integers down to -255, which wrap, and so do
    other unsigned dtypes; floats accept infinities and NaN.
    """
    value = as_expr(number)
    message = (
        f"{name}: the number {{}} cannot be converted to {dtype} without overflow; "
        "give a number in its range or use a wider dtype"
    )
    if is_integer(dtype):
        low, high = lowest(dtype), highest(dtype)
        if not is_signed(dtype) and not is_float(value.dtype):
            low = -high
        if dtype == "uint64":  # represents every number that a call can pass
            return
        require(make("le", low, value), message, value)
        require(make("le", value, high), message, value)
    elif is_real_float(dtype) and not (is_complex(value.dtype) or dtype in _UNBOUNDED):
        limit = largest_number(dtype)
        for size in (value, -value):
            beyond = make("lt", limit, size)
            finite = make("lt", size, math.inf)
            require(make("not", make("and", beyond, finite)), message, value)


def wrap_index(i: Any, size: ExprLike) -> Any:
    """A possibly negative index, counted from the front."""
    return where(i < 0, i + size, i)


def float_or(dtype: str, otherwise: str = "float32") -> str:
    """``dtype`` if it is floating point, else ``otherwise``."""
    return dtype if is_float(dtype) else otherwise


def declared_dtype(x: Any) -> str:
    """The dtype of an operand as stored: a scalar function reads half operands in
    float32.
    """
    if isinstance(x, Expr) and x.op == "cast" and x.args[0].op == "load":
        return x.args[0].dtype
    return str(x.dtype)


def map_elements(fn: Callable[..., Any], *operands: Any) -> Any:
    """``fn`` of scalars, element by element with broadcasting."""
    return lift(fn, *operands)
