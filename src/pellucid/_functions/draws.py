"""Draws and questions that combine ops: dropout, multinomial, unique, bincount, equal.

Used by ``pellucid/__init__.py`` through ``__all__``; those in ``_METHODS`` are
methods of Tensor too.
"""

from __future__ import annotations

import math

import pellucid
from pellucid._calls.argument_checks import (
    refuse_bool,
    refuse_complex,
)
from pellucid._tensor import Tensor

TYPE_CHECKING = False  # importing typing takes a fifth of all of this
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "allclose",
    "alpha_dropout",
    "alpha_dropout_",
    "bincount",
    "dropout",
    "dropout_",
    "equal",
    "feature_alpha_dropout",
    "feature_alpha_dropout_",
    "feature_dropout",
    "feature_dropout_",
    "unique",
]
_METHODS = ("allclose", "bincount", "equal", "unique")
# The value that selu goes to at -infinity, where alpha dropout puts what it drops.
_ALPHA = 1.7580993408473766


def _checked(p: float) -> None:
    if not 0 <= p <= 1:
        raise RuntimeError(f"a dropout probability lies between 0 and 1, not {p}")


def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Zeros with probability ``p``, the other elements divided by ``1 - p``."""
    _checked(p)
    if not train or p == 0 or not input.numel():
        return input
    refuse_complex("dropout", input)
    if p == 1:
        return input * pellucid.zeros_like(input)
    return pellucid.native_dropout(input, p, True)[0]


def dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """``dropout`` in place."""
    _checked(p)
    if not train or p == 0 or not input.numel():
        return input
    return input.mul_(_kept(input, input.shape, p))


def _kept(input: Tensor, shape: Any, p: float) -> Tensor:
    """``1 / (1 - p)`` with probability ``1 - p``, else 0."""
    if p == 1:
        return input.new_zeros(shape)
    return input.new_empty(shape).bernoulli_(1 - p).div_(1 - p)


def _channels(input: Tensor) -> list[int]:
    if input.dim() < 2:
        raise RuntimeError(
            f"dropout of whole channels takes tensors of 2 dimensions or more, not "
            f"{input.dim()}"
        )
    return [*input.shape[:2], *([1] * (input.dim() - 2))]


def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """``dropout`` of whole channels."""
    _checked(p)
    if not train or p == 0 or not input.numel():
        return input
    return input * _kept(input, _channels(input), p)


def feature_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """``feature_dropout`` in place."""
    _checked(p)
    if not train or p == 0 or not input.numel():
        return input
    return input.mul_(_kept(input, _channels(input), p))


def _alpha_terms(input: Tensor, shape: Any, p: float) -> tuple[Tensor, Tensor]:
    """(factor, summand) that keep mean and variance of selu's outputs."""
    if p == 1:
        return input.new_zeros(shape), input.new_zeros(shape)
    noise = input.new_empty(shape).bernoulli_(1 - p)
    scale = 1 / math.sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))
    shift = (noise - 1).mul_(_ALPHA * scale).add_(_ALPHA * scale * p)
    return noise.mul_(scale), shift


def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Dropout for selu: dropped elements take its least value (Klambauer 2017)."""
    _checked(p)
    if not train or p == 0 or not input.numel():
        return input
    factor, summand = _alpha_terms(input, input.shape, p)
    return input * factor + summand


def alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """``alpha_dropout`` in place."""
    _checked(p)
    if not train or p == 0 or not input.numel():
        return input
    factor, summand = _alpha_terms(input, input.shape, p)
    return input.mul_(factor).add_(summand)


def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """``alpha_dropout`` of whole channels."""
    _checked(p)
    if not train or p == 0 or not input.numel():
        return input
    factor, summand = _alpha_terms(input, _channels(input), p)
    return input * factor + summand


def feature_alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """``feature_alpha_dropout`` in place."""
    _checked(p)
    if not train or p == 0 or not input.numel():
        return input
    factor, summand = _alpha_terms(input, _channels(input), p)
    return input.mul_(factor).add_(summand)


def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The different elements in order; which of them each is, and how often it stands.

    Along ``dim`` whole slices are compared.
    """
    if dim is None:
        found = pellucid._unique2(input, sorted, return_inverse, return_counts)
    else:
        found = _unique_slices(input, dim)
    parts = [found[0]]
    parts += [found[1]] if return_inverse else []
    parts += [found[2]] if return_counts else []
    return parts[0] if len(parts) == 1 else tuple(parts)


def _unique_slices(input: Tensor, dim: int) -> tuple[Tensor, Tensor, Tensor]:
    """Slices are numbered column by column: equal numbers mean equal so far."""
    slices = input.movedim(dim, 0)
    if 0 in slices.shape[1:]:
        raise RuntimeError(
            f"unique: slices of shape {tuple(slices.shape[1:])} have no elements to "
            "compare"
        )
    rows = slices.flatten(1) if slices.dim() > 1 else slices.unsqueeze(1)
    number = pellucid.zeros(rows.shape[0], dtype=pellucid.int64)
    for column in rows.unbind(1):
        rank = pellucid._unique2(column, True, True)[1]
        number = pellucid._unique2(number * rows.shape[0] + rank, True, True)[1]
    _, inverse, counts = pellucid._unique2(number, True, True, True)
    first = pellucid.zeros_like(counts).scatter_(
        0, inverse, pellucid.arange(inverse.numel())
    )
    return input.index_select(dim, first), inverse, counts


def bincount(
    input: Tensor, weights: Tensor | None = None, minlength: int = 0
) -> Tensor:
    """How often each number from 0 on stands in ``input``, or its weights' sum."""
    refuse_bool("bincount", input)
    if input.dim() != 1 or input.is_floating_point():
        raise RuntimeError(
            f"bincount takes a vector of integers, not {input.dim()} dimensions of "
            f"{input.dtype}"
        )
    if minlength < 0:
        raise RuntimeError(f"bincount: minlength {minlength} is negative")
    if input.numel() and int(input.min()) < 0:
        raise RuntimeError("bincount: the numbers to count must not be negative")
    length = max(minlength, int(input.max()) + 1 if input.numel() else 0)
    if weights is None:
        weights = pellucid.ones(input.shape, dtype=pellucid.int64)
    elif weights.shape != input.shape:
        raise RuntimeError("bincount: give one weight for each number")
    elif weights.dtype is not pellucid.float32:
        weights = weights.double()
    return weights.new_zeros(length).index_add_(0, input.long(), weights)


def allclose(
    input: Tensor,
    other: Tensor,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> bool:
    """Whether all elements are close, as ``isclose`` says."""
    return bool(pellucid.isclose(input, other, rtol, atol, equal_nan).all())


def equal(input: Tensor, other: Tensor) -> bool:
    """Whether shapes and all elements are equal."""
    if input.shape != other.shape:
        return False
    return bool((input == other).all())


for _name in _METHODS:
    setattr(Tensor, _name, globals()[_name])
