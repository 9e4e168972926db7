"""``torch.nn.grad``: the gradients of convolutions with respect to one operand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pellucid
from pellucid import Tensor

_Sizes = int | Sequence[int]


def _each(value: _Sizes, dims: int) -> list[int]:
    return [value] * dims if isinstance(value, int) else list(value)


def _gradient(
    dims: int,
    wanted: int,
    input: Tensor,
    weight: Tensor,
    grad_output: Tensor,
    options: tuple[_Sizes, _Sizes, _Sizes, int],
) -> Tensor:
    stride, padding, dilation, groups = options
    found: Any = pellucid.ops.aten.convolution_backward(
        grad_output,
        input,
        weight,
        None,
        _each(stride, dims),
        _each(padding, dims),
        _each(dilation, dims),
        False,
        [0],
        groups,
        [wanted == 0, wanted == 1, False],
    )
    result: Tensor = found[wanted]
    return result


def _declare(dims: int) -> tuple[Callable[..., Tensor], Callable[..., Tensor]]:
    def conv_input(
        input_size: Sequence[int],
        weight: Tensor,
        grad_output: Tensor,
        stride: _Sizes = 1,
        padding: _Sizes = 0,
        dilation: _Sizes = 1,
        groups: int = 1,
    ) -> Tensor:
        options = (stride, padding, dilation, groups)
        image = grad_output.new_empty(1).expand(input_size)
        return _gradient(dims, 0, image, weight, grad_output, options)

    def conv_weight(
        input: Tensor,
        weight_size: Sequence[int],
        grad_output: Tensor,
        stride: _Sizes = 1,
        padding: _Sizes = 0,
        dilation: _Sizes = 1,
        groups: int = 1,
    ) -> Tensor:
        options = (stride, padding, dilation, groups)
        weight = grad_output.new_empty(1).expand(weight_size)
        return _gradient(dims, 1, input, weight, grad_output, options)

    for function, word in ((conv_input, "input"), (conv_weight, "weight")):
        function.__name__ = function.__qualname__ = f"conv{dims}d_{word}"
        function.__doc__ = (
            f"The gradient of ``conv{dims}d`` with respect to its {word}, whose size "
            "is given; ``grad_output`` has the size of the result.\n\n"
            f"Example::\n\n    torch.nn.grad.conv{dims}d_{word}(*operands, stride=2)\n"
        )
    return conv_input, conv_weight


conv1d_input, conv1d_weight = _declare(1)
conv2d_input, conv2d_weight = _declare(2)
conv3d_input, conv3d_weight = _declare(3)
