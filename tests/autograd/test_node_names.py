"""Names of nodes: PyTorch's, overload numbers included; derived nodes are readable."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import pellucid as torch
from pellucid.nn import functional as F


def positive(*shape: int) -> torch.Tensor:
    return (torch.rand(*shape) + 0.5).requires_grad_()


x, m, v = positive(3, 4), positive(4, 5), positive(4)
batch, image = positive(2, 3, 4), positive(2, 3, 8, 8)
labels = torch.tensor([0, 1, 2])

NAMES: dict[str, Callable[[], torch.Tensor]] = {
    "MulBackward0": lambda: x * 2,
    "RsubBackward1": lambda: 1 - x,
    "PowBackward0": lambda: x**2,
    "PowBackward1": lambda: x**x,
    "DivBackward2": lambda: torch.div(x, x, rounding_mode="floor"),
    "FmodBackward0": lambda: torch.fmod(x, 2),
    "FmodBackward1": lambda: torch.fmod(x, x),
    "XlogyBackward2": lambda: torch.xlogy(x, 2.0),
    "Log1PBackward0": lambda: x.log1p(),
    "MmBackward0": lambda: x @ m,
    "MvBackward0": lambda: x @ v,
    "DotBackward0": lambda: v @ v,
    "UnsafeViewBackward0": lambda: batch @ m,
    "AddmmBackward0": lambda: F.linear(x, positive(5, 4), positive(5)),
    "ViewBackward0": lambda: F.linear(batch, positive(5, 4), positive(5)),
    "ConvolutionBackward0": lambda: F.conv2d(image, positive(4, 3, 3, 3)),
    "NativeLayerNormBackward0": lambda: F.layer_norm(x, (4,)),
    "NativeBatchNormBackward0": lambda: F.batch_norm(image, None, None, training=True),
    "MaxPool2DWithIndicesBackward0": lambda: F.max_pool2d(image, 2),
    "AvgPool2DBackward0": lambda: F.avg_pool2d(image, 2),
    "NllLossBackward0": lambda: F.cross_entropy(x, labels),
    "MaxBackward0": lambda: x.max(0)[0],
    "MaxBackward1": lambda: x.max(),
    "MaximumBackward0": lambda: torch.max(x, x),
    "MeanBackward1": lambda: x.mean(0),
    "SqueezeBackward1": lambda: positive(1, 2).squeeze(0),
    "SliceBackward0": lambda: x.narrow(0, 0, 1),
    "ClampBackward1": lambda: x.clamp(0, 1),
    "CopyBackwards": lambda: torch.zeros(3, 4).copy_(x),
}


@pytest.mark.parametrize("name", NAMES)
def test_name(name: str) -> None:
    node = NAMES[name]().grad_fn
    assert node.name() == type(node).__name__ == name


def test_nodes_of_gradients() -> None:
    (first,) = torch.autograd.grad(x.sin().sum(), x, create_graph=True)
    assert first.grad_fn.name() == "SinBackwardBackward0"
    (second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
    assert second.grad_fn.name() == "SinBackwardBackwardBackward0"


def test_nodes_of_tangents() -> None:
    _, tangent = torch.func.jvp(torch.sin, (x,), (torch.ones(3, 4),))
    assert tangent.grad_fn.name() == "SinJvpBackward0"
