"""Tensors as lists of real numbers, for ``gradcheck``'s comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pellucid
from pellucid import _C
from pellucid._tensor import Tensor


class GradcheckError(RuntimeError):
    """A gradient differs from the finite differences, or cannot be checked."""


def requiring_grad(values: Sequence[Any]) -> list[Tensor]:
    return [v for v in values if isinstance(v, Tensor) and v.requires_grad]


def differentiable(result: Any) -> list[Tensor]:
    outputs = (result,) if isinstance(result, Tensor) else tuple(result)
    return [o for o in outputs if isinstance(o, Tensor) and o.requires_grad]


def count(tensor: Tensor) -> int:
    """The number of elements: complex numbers have two each."""
    return tensor.numel() * (2 if tensor.is_complex() else 1)


def elements(tensor: Tensor) -> list[float]:
    given = tensor.detach()
    if given.is_complex():
        given = pellucid.view_as_real(given.resolve_conj())
    values: Any = given.tolist()
    while isinstance(values, list) and values and isinstance(values[0], list):
        values = [item for row in values for item in row]
    return values if isinstance(values, list) else [values]


def from_elements(values: list[float], like: Tensor) -> Tensor:
    if like.is_complex():
        parts = _C.tensor(values, dtype=like.dtype.to_real()).view((*like.shape, 2))
        return pellucid.view_as_complex(parts)
    made: Tensor = _C.tensor(values, dtype=like.dtype).view(like.shape)
    return made


def moved(arguments: tuple[Any, ...], target: Tensor, step: Tensor) -> tuple[Any, ...]:
    """The arguments with `step` added to `target`, detached."""
    moved = target.detach() + step
    return tuple(
        moved.requires_grad_()
        if a is target
        else a.detach().requires_grad_(a.requires_grad)
        if isinstance(a, Tensor)
        else a
        for a in arguments
    )


def close(a: float, b: float, atol: float, rtol: float) -> bool:
    return a == b or abs(a - b) <= atol + rtol * abs(b)
