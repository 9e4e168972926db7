"""Functions that combine ops: the dropouts, and unique.

Used by ``pellucid/__init__.py`` through ``__all__``; those in ``_METHODS`` are
methods of Tensor too.
"""

from __future__ import annotations

import math

import pellucid
from pellucid import _C
from pellucid import normal as _normal_of_numbers
from pellucid._calls.argument_checks import any_true, refuse_complex
from pellucid._tensor import Tensor

TYPE_CHECKING = False  # importing typing takes a fifth of all of this
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "alpha_dropout",
    "alpha_dropout_",
    "dropout",
    "dropout_",
    "feature_alpha_dropout",
    "feature_alpha_dropout_",
    "feature_dropout",
    "feature_dropout_",
    "normal",
    "unique",
]
_METHODS = ("unique",)
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


def normal(
    mean: Any,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Any = None,
    out: Tensor | None = None,
    **options: Any,
) -> Tensor:
    """Normal numbers; mean and deviation are numbers or tensors of one number each.

    Two numbers need a ``size``. Draws have no history.

    >>> torch.normal(torch.tensor([1.0, 2.0]), 0.0)
    tensor([1., 2.])
    """
    given = [t for t in (mean, std) if isinstance(t, Tensor)]
    if not given:
        options = options if out is None else {**options, "out": out}
        return _normal_of_numbers(mean, std, size, generator=generator, **options)
    if any_true(std < 0) if isinstance(std, Tensor) else std < 0:
        raise RuntimeError("normal: std is negative, or one of its elements is")
    with pellucid.no_grad():
        shape = pellucid.broadcast_shapes(*(t.shape for t in given))
        drawn = pellucid.randn(shape, generator=generator, dtype=given[0].dtype)
        found = drawn.mul_(std).add_(mean)
        return found if out is None else out.resize_(shape).copy_(found)


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
        op = _C._op_named("unique_dim")
        found = op(input, dim, sorted, return_inverse, return_counts)
    parts = [found[0]]
    parts += [found[1]] if return_inverse else []
    parts += [found[2]] if return_counts else []
    return parts[0] if len(parts) == 1 else tuple(parts)


for _name in _METHODS:
    setattr(Tensor, _name, globals()[_name])
