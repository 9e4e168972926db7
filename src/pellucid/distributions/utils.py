"""Helpers of distributions, which other libraries import, too.

``probs`` are probabilities, ``logits`` their log odds or, of several classes, their
logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import pellucid
from pellucid import Tensor
from pellucid.nn import functional

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

LOG_ROOT_2_PI = 0.5 * math.log(2 * math.pi)
EULER = 0.5772156649015329
euler_constant = EULER

Found = TypeVar("Found")


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Numbers and tensors as tensors of one shape; numbers take the tensors' dtype."""
    tensors = [v for v in values if isinstance(v, Tensor)]
    dtype = tensors[0].dtype if tensors else pellucid.get_default_dtype()
    for value in values:
        if not isinstance(value, (Tensor, int, float)):
            raise ValueError(
                f"a parameter is a number or a tensor, not {type(value).__name__}"
            )
    return pellucid.broadcast_tensors(
        *(
            v if isinstance(v, Tensor) else pellucid.tensor(v, dtype=dtype)
            for v in values
        )
    )


def shape_of(value: Tensor, *parameters: Any) -> Any:
    """The batch shape: () if all parameters are plain numbers."""
    is_plain = all(isinstance(g, (int, float)) for g in parameters)
    return pellucid.Size() if is_plain else value.shape


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities clamped away from 0 and 1, so that their logarithms are finite."""
    eps = pellucid.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """The log odds, or the logarithms of the probabilities of classes."""
    inside = clamp_probs(probs)
    return inside.log() - (-inside).log1p() if is_binary else inside.log()


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """The probabilities."""
    return logits.sigmoid() if is_binary else functional.softmax(logits, -1)


class lazy_property(Generic[Found]):
    """A property that is computed at first use, with gradients, and cached."""

    def __init__(self, wrapped: Callable[[Any], Found]) -> None:
        self.wrapped = wrapped
        self.__doc__ = wrapped.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with pellucid.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements on and below diagonal ``diag``, row by row."""
    size = mat.shape[-1]
    if diag < -size or diag >= size:
        raise ValueError(f"diag is {diag}, and the matrices have {size} columns")
    rows, columns = pellucid.tril_indices(size, size, offset=diag)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """The matrices whose ``tril_matrix_to_vec`` is ``vec``, and 0 above."""
    length = vec.shape[-1]
    root = math.sqrt(1 + 8 * length + 4 * abs(diag) * (diag + 1))
    size = (-(1 + 2 * diag) + root) / 2
    if not float(size).is_integer():
        raise ValueError(
            f"{length} numbers do not fill a triangle; give 1, 3, 6, 10, ..."
        )
    count = round(size)
    rows, columns = pellucid.tril_indices(count, count, offset=diag)
    matrices = vec.new_zeros([*vec.shape[:-1], count * count])
    places = (rows * count + columns).expand(vec.shape)
    return matrices.scatter(-1, places, vec).reshape(*vec.shape[:-1], count, count)


def _standard_normal(shape: Any, dtype: Any, device: Any) -> Tensor:
    """Normal variates with mean 0 and standard deviation 1."""
    return pellucid.normal(
        pellucid.zeros(shape, dtype=dtype, device=device),
        pellucid.ones(shape, dtype=dtype, device=device),
    )


def sum_last(value: Tensor, count: int) -> Tensor:
    """The sum over the last ``count`` dims."""
    return value.flatten(-count).sum(-1) if count else value


_sum_rightmost = sum_last
