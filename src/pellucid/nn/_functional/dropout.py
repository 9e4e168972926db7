"""Dropout of elements and of channels."""

from __future__ import annotations

from collections.abc import Callable

import pellucid
from pellucid import Tensor
from pellucid._package.calls.captured import captured_as
from pellucid_compiler.composites import dropout as bodies

__all__ = [
    "alpha_dropout",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "feature_alpha_dropout",
]


# Calling the composites' bodies is cheaper than calling the ops.
_dropout, _dropout_ = bodies.dropout.body, bodies.dropout_.body


def checked_probability(p: float) -> float:
    """``p``; ValueError unless it is from 0 to 1."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    return p


def _dropout_by_op(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    op = pellucid.dropout_ if inplace else pellucid.dropout
    dropped: Tensor = op(input, checked_probability(p), training)
    return dropped


@captured_as(_dropout_by_op)
def dropout(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zeroes elements with probability ``p`` and scales the others by 1 / (1 - p)."""
    op = _dropout_ if inplace else _dropout
    dropped: Tensor = op(input, checked_probability(p), training)
    return dropped


def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Dropout that preserves the mean and variance of SELU activations."""
    op = pellucid.alpha_dropout_ if inplace else pellucid.alpha_dropout
    dropped: Tensor = op(input, checked_probability(p), training)
    return dropped


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Alpha dropout of whole channels."""
    op = pellucid.feature_alpha_dropout_ if inplace else pellucid.feature_alpha_dropout
    return op(input, checked_probability(p), training)


def _channel_dropout(dimensions: int) -> Callable[..., Tensor]:
    """``dropout1d``, ``dropout2d`` or ``dropout3d``."""

    def channel_dropout(
        input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
    ) -> Tensor:
        op = pellucid.feature_dropout_ if inplace else pellucid.feature_dropout
        checked_probability(p)
        ranks = (dimensions + 1, dimensions + 2)
        if input.ndim not in ranks:
            message = (
                f"dropout{dimensions}d takes {ranks[0]} or {ranks[1]} dimensions, "
                f"not {input.ndim}"
            )
            if dimensions == 1:
                raise RuntimeError(message)
            import warnings

            warnings.warn(message, stacklevel=2)
        if input.ndim == ranks[1] or dimensions == 2:  # (N, C, L), as in PyTorch
            return op(input, p, training)
        batched = op(input.unsqueeze(0), p, training)
        return input if inplace else batched.squeeze(0)

    channel_dropout.__name__ = f"dropout{dimensions}d"
    channel_dropout.__doc__ = (
        "Zeroes whole channels with probability ``p``; input (N, C, ...), or (C, ...) "
        "but for ``dropout2d``."
    )
    return channel_dropout


dropout1d = _channel_dropout(1)
dropout2d = _channel_dropout(2)
dropout3d = _channel_dropout(3)
