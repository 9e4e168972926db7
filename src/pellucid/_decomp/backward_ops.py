"""Ops that PyTorch computes gradients by: ``threshold_backward``, ``gelu_backward``.

Here a derivative op computes what they do; modes see these in its place
(derivatives.py), and ``torch.ops.aten`` has them. Their kernels are compositions, in
float32 where the tensors are of half precision.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import pellucid
from pellucid import _C, Tensor

_HALF = (pellucid.float16, pellucid.bfloat16)


def wide(x: Tensor) -> Tensor:
    """A tensor of half precision in float32, another as it is."""
    return x.float() if x.dtype in _HALF else x


def _defines(schema: str) -> Callable[[Callable[..., Tensor]], Callable[..., Tensor]]:
    """Decorates the kernel of an aten op."""

    def define(kernel: Callable[..., Tensor]) -> Callable[..., Tensor]:
        @functools.wraps(kernel)
        def run(grad: Tensor, *args: Any, **kwargs: Any) -> Tensor:
            if grad.dtype not in _HALF:
                return kernel(grad, *args, **kwargs)
            given = [wide(a) if isinstance(a, Tensor) else a for a in args]
            return kernel(wide(grad), *given, **kwargs).to(grad.dtype)

        _C._define_op(schema, "aten")
        _C._register_kernel(f"aten::{schema.partition('(')[0]}", "", run)
        return run

    return define


@_defines(
    "threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor"
)
def threshold_backward(grad: Tensor, x: Tensor, threshold: float) -> Tensor:
    """Of ``relu`` and ``threshold``: zero up to the threshold."""
    return pellucid.where(x <= threshold, 0.0, grad)


@_defines("sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor")
def sigmoid_backward(grad: Tensor, output: Tensor) -> Tensor:
    """In the result, conjugated where it is complex."""
    return grad * ((1 - output) * output).conj()


@_defines("tanh_backward(Tensor grad_output, Tensor output) -> Tensor")
def tanh_backward(grad: Tensor, output: Tensor) -> Tensor:
    """In the result, conjugated where it is complex."""
    return grad * (1 - output * output).conj()


@_defines("silu_backward(Tensor grad_output, Tensor self) -> Tensor")
def silu_backward(grad: Tensor, x: Tensor) -> Tensor:
    """``s (1 + x (1 - s))`` where ``s`` is the sigmoid; conjugated where complex."""
    s = x.sigmoid()
    return grad * (s * (1 + x * (1 - s))).conj()


@_defines(
    "gelu_backward(Tensor grad_output, Tensor self, *, str approximate='none') -> "
    "Tensor"
)
def gelu_backward(grad: Tensor, x: Tensor, *, approximate: str = "none") -> Tensor:
    """Of the normal distribution's ``x Phi(x)``, or of its approximation by tanh, which
    is conjugated where it is complex.
    """
    if approximate not in ("none", "tanh"):
        raise RuntimeError(
            f"gelu_backward: approximate={approximate!r} is neither 'none' nor 'tanh'"
        )
    if approximate == "none":
        density = (x * x * -0.5).exp() * (1 / math.sqrt(2 * math.pi))
        return grad * ((1 + (x * math.sqrt(0.5)).erf()) * 0.5 + x * density)
    scale, cubic = math.sqrt(2 / math.pi), 0.044715
    t = (scale * (x + cubic * x * x * x)).tanh()
    slope = scale * (1 + 3 * cubic * x * x)
    return grad * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope).conj()


@_defines(
    "_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType "
    "input_dtype) -> Tensor"
)
def softmax_backward(grad: Tensor, output: Tensor, dim: int, dtype: Any) -> Tensor:
    """``output (grad - sum(output grad))``."""
    weighted = grad * output
    return (weighted - output * weighted.sum(dim, keepdim=True)).to(dtype)


@_defines(
    "_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType "
    "input_dtype) -> Tensor"
)
def log_softmax_backward(grad: Tensor, output: Tensor, dim: int, dtype: Any) -> Tensor:
    """``grad - exp(output) sum(grad)``."""
    return (grad - output.exp() * grad.sum(dim, keepdim=True)).to(dtype)
