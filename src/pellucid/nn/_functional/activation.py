"""Activations with an ``inplace`` flag or with a default ``dim``."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._C import _nn

__all__ = [
    "celu",
    "elu",
    "glu",
    "gumbel_softmax",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "leaky_relu",
    "log_softmax",
    "logsigmoid",
    "mish",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "softmax",
    "softmin",
    "softsign",
    "tanh",
    "threshold",
]


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(input, 0)``."""
    return pellucid.relu_(input) if inplace else pellucid.relu(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """``min(max(input, 0), 6)``."""
    return _nn.relu6_(input) if inplace else _nn.relu6(input)


def softsign(input: Tensor) -> Tensor:
    """``input / (1 + |input|)``."""
    result: Tensor = _nn.softsign(input)
    return result


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """``input`` limited to ``min_val .. max_val``."""
    if min_val > max_val:
        raise ValueError(f"hardtanh: min_val {min_val} exceeds max_val {max_val}")
    op = _nn.hardtanh_ if inplace else _nn.hardtanh
    return op(input, min_val, max_val)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``input`` where positive, else ``alpha * (exp(input) - 1)``."""
    return _nn.elu_(input, alpha) if inplace else _nn.elu(input, alpha)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """The self-normalising exponential unit."""
    return pellucid.selu_(input) if inplace else pellucid.selu(input)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``max(0, input) + min(0, alpha * (exp(input / alpha) - 1))``."""
    return pellucid.celu_(input, alpha) if inplace else pellucid.celu(input, alpha)


def leaky_relu(
    input: Tensor, negative_slope: float = 0.01, inplace: bool = False
) -> Tensor:
    """``input`` where positive, else ``negative_slope * input``."""
    op = _nn.leaky_relu_ if inplace else _nn.leaky_relu
    return op(input, negative_slope)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * sigmoid(input)``."""
    return _nn.silu_(input) if inplace else _nn.silu(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * tanh(softplus(input))``."""
    return _nn.mish_(input) if inplace else _nn.mish(input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * relu6(input + 3) / 6``."""
    return _nn.hardswish_(input) if inplace else _nn.hardswish(input)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``relu6(input + 3) / 6``."""
    return _nn.hardsigmoid_(input) if inplace else _nn.hardsigmoid(input)


def threshold(
    input: Tensor, threshold: float, value: float, inplace: bool = False
) -> Tensor:
    """``input`` where above ``threshold``, else ``value``."""
    op = pellucid.threshold_ if inplace else pellucid.threshold
    return op(input, threshold, value)


def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent."""
    return input.tanh()


def sigmoid(input: Tensor) -> Tensor:
    """``1 / (1 + exp(-input))``."""
    return input.sigmoid()


def logsigmoid(input: Tensor) -> Tensor:
    """``log(sigmoid(input))``, without overflow."""
    return _nn.log_sigmoid(input)


def softmax(
    input: Tensor,
    dim: int | None = None,
    _stacklevel: int = 3,
    dtype: Any | None = None,
) -> Tensor:
    """``exp(input)`` over its sum along ``dim``."""
    dim = _softmax_dim("softmax", input, _stacklevel) if dim is None else dim
    return input.softmax(dim, dtype=dtype)


def softmin(
    input: Tensor,
    dim: int | None = None,
    _stacklevel: int = 3,
    dtype: Any | None = None,
) -> Tensor:
    """The softmax of ``-input``."""
    dim = _softmax_dim("softmin", input, _stacklevel) if dim is None else dim
    return (-input).softmax(dim, dtype=dtype)


def log_softmax(
    input: Tensor,
    dim: int | None = None,
    _stacklevel: int = 3,
    dtype: Any | None = None,
) -> Tensor:
    """The logarithm of the softmax, without overflow."""
    dim = _softmax_dim("log_softmax", input, _stacklevel) if dim is None else dim
    return input.log_softmax(dim, dtype=dtype)


def _softmax_dim(name: str, input: Tensor, stacklevel: int) -> int:
    import warnings

    warnings.warn(
        f"{name} without dim is deprecated: it takes axis 0 of inputs of 0, 1 or 3 "
        "dimensions and axis 1 of others; pass dim",
        stacklevel=stacklevel,
    )
    return 0 if input.ndim in (0, 1, 3) else 1


def gumbel_softmax(
    logits: Tensor,
    tau: float = 1,
    hard: bool = False,
    eps: float = 1e-10,
    dim: int = -1,
) -> Tensor:
    """A sample of the Gumbel-softmax distribution; ``hard`` makes it one-hot.

    The hard sample has the soft one's gradient (Jang et al., 2017).
    """
    noise = pellucid.empty_like(
        logits, memory_format=pellucid.legacy_contiguous_format
    ).exponential_()
    soft = ((logits - noise.log()) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    one_hot = pellucid.zeros_like(
        logits, memory_format=pellucid.legacy_contiguous_format
    ).scatter_(dim, index, 1.0)
    return one_hot - soft.detach() + soft


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half along ``dim`` times the sigmoid of the second."""
    return _nn.glu(input, dim)
