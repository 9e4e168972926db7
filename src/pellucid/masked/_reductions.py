"""Masked sums, products, extremes, means, variances and norms."""

from __future__ import annotations

import math
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.masked._operands import all_dims, as_dtype, filled, of_present
from pellucid.masked._sparse import reduced
from pellucid.sparse._ops.parts import is_sparse

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "cumprod",
    "cumsum",
    "logaddexp",
    "logsumexp",
    "mean",
    "median",
    "norm",
    "prod",
    "std",
    "sum",
    "var",
]


def _reduce(
    name: str, values: Tensor, fill: Any, dim: Any, keepdim: Any, mask: Tensor | None
) -> Tensor:
    """The reduction over ``dim`` of what is in the mask; ``fill`` changes no result."""
    dims = all_dims(dim, values.dim())
    if is_sparse(values):
        return reduced(name, values, dims, bool(keepdim), mask, fill)
    values = filled(values, mask, fill, name)
    for d in reversed(dims if name == "prod" else []):
        values = values.prod(d, keepdim=bool(keepdim))
    if name == "prod":
        return values
    found: Tensor = getattr(values, name)(dims, keepdim=bool(keepdim))
    return found


def _least(dtype: Any) -> Any:
    if dtype.is_floating_point:
        return -math.inf
    return False if dtype is pellucid.bool else pellucid.iinfo(dtype).min


def _greatest(dtype: Any) -> Any:
    if dtype.is_floating_point:
        return math.inf
    return True if dtype is pellucid.bool else pellucid.iinfo(dtype).max


@of_present
def sum(
    input: Tensor,
    dim: Any = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The sum of the elements in the mask, over ``dim``."""
    values = as_dtype(input, dtype, widen=True)
    return _reduce("sum", values, 0, dim, keepdim, mask)


@of_present
def prod(
    input: Tensor,
    dim: Any = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The product of the elements in the mask, over ``dim``."""
    values = as_dtype(input, dtype, widen=True)
    return _reduce("prod", values, 1, dim, keepdim, mask)


@of_present
def cumsum(
    input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The running sum along ``dim``; elements outside the mask add nothing."""
    values = filled(as_dtype(input, dtype), mask, 0, "cumsum")
    return values.cumsum(dim, dtype=values.dtype)


@of_present
def cumprod(
    input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The running product along ``dim``; elements outside the mask count as 1."""
    values = filled(as_dtype(input, dtype), mask, 1, "cumprod")
    return values.cumprod(dim, dtype=values.dtype)


@of_present
def amax(
    input: Tensor,
    dim: Any = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The maximum of the elements in the mask, over ``dim``."""
    values = as_dtype(input, dtype)
    return _reduce("amax", values, _least(values.dtype), dim, keepdim, mask)


@of_present
def amin(
    input: Tensor,
    dim: Any = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The minimum of the elements in the mask, over ``dim``."""
    values = as_dtype(input, dtype)
    return _reduce("amin", values, _greatest(values.dtype), dim, keepdim, mask)


@of_present
def argmax(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The index of the maximum of the elements in the mask, in the input's dtype."""
    values = as_dtype(input, dtype)
    values = filled(values, mask, _least(values.dtype), "argmax")
    return values.argmax(dim, keepdim=bool(keepdim)).to(values.dtype)


@of_present
def argmin(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The index of the minimum of the elements in the mask, in the input's dtype."""
    values = as_dtype(input, dtype)
    values = filled(values, mask, _greatest(values.dtype), "argmin")
    return values.argmin(dim, keepdim=bool(keepdim)).to(values.dtype)


def _count(input: Tensor, mask: Tensor | None, dims: list[int], keepdim: bool) -> Any:
    """The number of elements in the mask."""
    named = pellucid.ones(input.shape, dtype=pellucid.int64, device=input.device)
    return filled(named, mask, 0, "mean").sum(dims, keepdim=keepdim)


@of_present
def mean(
    input: Tensor,
    dim: Any = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The mean of the elements in the mask; NaN where there are none."""
    values = as_dtype(input, dtype)
    if not (values.is_floating_point() or values.is_complex()):
        raise ValueError(f"masked.mean takes floats, not {values.dtype}; give dtype")
    if is_sparse(values):
        return _reduce("mean", values, 0, dim, keepdim, mask)
    dims = all_dims(dim, input.dim())
    total = filled(values, mask, 0, "mean").sum(dims, keepdim=bool(keepdim))
    return total / _count(input, mask, dims, bool(keepdim))  # type: ignore[no-any-return]


@of_present
def median(
    input: Tensor,
    dim: int = -1,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The lower median of the elements in the mask, along ``dim``."""
    values = as_dtype(input, dtype)
    if input.dim() == 0:
        dim = 0
        values = values.unsqueeze(0)
        mask = mask if mask is None or mask.dim() else mask.unsqueeze(0)
    if mask is None:
        return values.median(dim, keepdim=keepdim).values
    if not values.is_floating_point():
        raise ValueError(f"masked.median takes floats, not {values.dtype}")
    masked = filled(values, mask, math.nan, "median")
    return masked.nanmedian(dim, keepdim=keepdim).values


@of_present
def logsumexp(
    input: Tensor,
    dim: Any = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """``log(sum(exp))`` of the elements in the mask, over ``dim``; the result
    has the dtype of the summands.
    """
    values = as_dtype(input, dtype)
    if mask is not None:
        if values.dtype is pellucid.bool:
            raise NotImplementedError(
                "masked.logsumexp: bools have no least number to fill in where the "
                "mask is false; give dtype=torch.float32"
            )
        fill = -math.inf if values.is_complex() else _least(values.dtype)
        values = filled(values, mask, fill, "logsumexp")
    result = values.logsumexp(all_dims(dim, input.dim()), keepdim=keepdim)
    return result.to(values.dtype)


def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: Any = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """``log(exp(input) + exp(other))``; elements outside a mask add nothing."""
    left = filled(as_dtype(input, dtype), input_mask, -math.inf, "logaddexp")
    right = filled(as_dtype(other, dtype), other_mask, -math.inf, "logaddexp")
    return pellucid.logaddexp(left, right)


@of_present
def norm(
    input: Tensor,
    ord: float = 2.0,
    dim: Any = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The norm of order ``ord`` of the elements in the mask."""
    fill = math.inf if ord < 0 else 0
    values = filled(as_dtype(input, dtype), mask, fill, "norm")
    dims = all_dims(dim, input.dim())
    return pellucid.linalg.vector_norm(values, ord, dims, bool(keepdim), dtype=dtype)


@of_present
def var(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The variance of the elements in the mask, over ``dim``."""
    if unbiased is not None and correction is not None:
        raise RuntimeError("masked.var: give either unbiased or correction")
    less = 1.0 if correction is None else correction
    less = less if unbiased is None else float(unbiased)
    values = as_dtype(input, dtype)
    if not (values.is_floating_point() or values.is_complex()):
        values = values.to(pellucid.get_default_dtype())
    dims = all_dims(dim, input.dim())
    count = _count(input, mask, dims, True)
    sums = filled(values, mask, 0, "std/var").sum(dims, keepdim=True)
    gaps = filled(values - sums / count.to(values.dtype), mask, 0, "std/var")
    total = (gaps * gaps.conj()).sum(dims, keepdim=bool(keepdim))
    count = count if keepdim else count.reshape(total.shape)
    freedom = (count - less).clamp(min=0)
    return total / freedom.to(values.dtype)  # type: ignore[no-any-return]


@of_present
def std(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The root of ``var``."""
    options = {"keepdim": keepdim, "dtype": dtype, "mask": mask}
    return var(input, dim, unbiased, correction=correction, **options).sqrt()
