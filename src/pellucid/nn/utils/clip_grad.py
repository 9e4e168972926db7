"""Limiting gradients by norm or by value, in place."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import pellucid
from pellucid import Tensor

_Tensors = Tensor | Iterable[Tensor]


def _as_list(tensors: _Tensors) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _grads_of(parameters: _Tensors) -> list[Tensor]:
    given = _as_list(parameters)
    if not given and not isinstance(parameters, (list, tuple, Tensor)):
        warnings.warn(
            "there are no parameters to clip: an iterator can be read only once",
            stacklevel=3,
        )
    return [p.grad for p in given if p.grad is not None]


def get_total_norm(
    tensors: _Tensors,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of all elements of all tensors together."""
    norm_type = float(norm_type)
    given = _as_list(tensors)
    if not given:
        return pellucid.tensor(0.0)
    norms = [pellucid.linalg.vector_norm(tensor, norm_type) for tensor in given]
    device, dtype = norms[0].device, norms[0].dtype
    stacked = pellucid.stack([norm.to(device, dtype) for norm in norms])
    total = pellucid.linalg.vector_norm(stacked, norm_type)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(
            f"the gradients' norm of order {norm_type} is {total.item()}, so they "
            "cannot be clipped; error_if_nonfinite=False clips them anyway"
        )
    return total


def clip_grads_with_norm_(
    parameters: _Tensors,
    max_norm: float,
    total_norm: Tensor,
    foreach: bool | None = None,
) -> None:
    """Scales gradients by ``max_norm / total_norm`` where that is below 1."""
    grads = _grads_of(parameters)
    # Always multiplies, by at most 1: a branch would have to read the norm's value.
    scale = pellucid.clamp(float(max_norm) / (total_norm + 1e-6), max=1.0)
    with pellucid.no_grad():
        for grad in grads:
            grad.mul_(scale.to(grad.device))


def clip_grad_norm_(
    parameters: _Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scales all gradients so that their total norm is at most ``max_norm``.

    Returns the norm before scaling.
    """
    given = _as_list(parameters)
    with pellucid.no_grad():
        total = get_total_norm(_grads_of(given), norm_type, error_if_nonfinite, foreach)
        clip_grads_with_norm_(given, max_norm, total, foreach)
    return total


def clip_grad_norm(*args: Any, **kwargs: Any) -> Tensor:
    """Deprecated name of :func:`clip_grad_norm_`."""
    warnings.warn(
        "nn.utils.clip_grad_norm is now nn.utils.clip_grad_norm_",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(*args, **kwargs)


def clip_grad_value_(
    parameters: _Tensors, clip_value: float, foreach: bool | None = None
) -> None:
    """Clamps every gradient element to ``-clip_value .. clip_value``."""
    limit = float(clip_value)
    with pellucid.no_grad():
        for grad in _grads_of(parameters):
            grad.clamp_(-limit, limit)
