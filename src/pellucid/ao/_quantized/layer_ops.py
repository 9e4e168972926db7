"""``torch.ops.quantized``: activations and norms, with a given output scale.

Most are the aten op of the same name on the numbers, rounded to the scale.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Parameter, Signature
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.ao._quantized.parts import is_quantized, quantized, split
from pellucid.ao._quantized.registry import op

_GIVEN = ("output_scale", "output_zero_point", "inplace")  # of no aten op


def _on_numbers(
    text: str,
    *others: str,
    body: Callable[..., Any] | None = None,
    with_relu: Sequence[str] = (),
) -> None:
    """Registers ``"name(argument, argument=1)"`` and other names: what ``body``, or the
    aten op of the name, gives of the numbers, in the given scale.
    """
    name, _, listed = text.rstrip(")").partition("(")
    signature = Signature([_parameter(each) for each in listed.split(", ")])
    function = body or getattr(pellucid.ops.aten, name)

    def call(*args: Any, **kwargs: Any) -> Tensor:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = bound.arguments
        floats = function(*(_number(v) for k, v in given.items() if k not in _GIVEN))
        dtype = next(iter(given.values())).dtype
        scale, zero_point = given["output_scale"], given["output_zero_point"]
        return quantized(floats, scale, zero_point, dtype)

    call.__doc__ = f"``{name}`` of the numbers, in the given scale."
    call.__signature__ = signature  # type: ignore[attr-defined]
    op(name, *others, with_relu=with_relu)(call)


def _parameter(text: str) -> Parameter:
    name, _, default = text.partition("=")
    kind = Parameter.POSITIONAL_OR_KEYWORD
    return Parameter(name, kind, default=int(default) if default else Parameter.empty)


def _number(value: Any) -> Any:
    return split(value).floats() if is_quantized(value) else value


_SCALE = "output_scale, output_zero_point"
_on_numbers(f"sigmoid(qx, {_SCALE})")
_on_numbers(f"hardswish(input, {_SCALE})")
_on_numbers(f"elu(self, {_SCALE}, alpha=1, scale=1, input_scale=1)")
_on_numbers(f"celu(self, {_SCALE}, alpha=1)")
_on_numbers(f"leaky_relu(qx, negative_slope, inplace, {_SCALE})")
_on_numbers(f"prelu(qx, weight, {_SCALE})")
_on_numbers(f"softmax(qx, dim, {_SCALE})")
_on_numbers(f"layer_norm(input, normalized_shape, weight, bias, eps, {_SCALE})")
_on_numbers(f"group_norm(input, num_groups, weight, bias, eps, {_SCALE})")


def _instance_norm(x: Tensor, weight: Any, bias: Any, eps: float) -> Tensor:
    """By each example's own moments."""
    made: Tensor = pellucid.group_norm(x, x.shape[1], weight, bias, eps)
    return made


def _batch_norm(
    x: Tensor, weight: Any, bias: Any, mean: Tensor, var: Tensor, eps: float
) -> Tensor:
    """By running statistics."""
    given = (weight, bias, mean, var, False, 0.0, eps, False)
    made: Tensor = pellucid.batch_norm(x, *given)
    return made


_NORM = f"(qx, weight, bias, mean, var, eps, {_SCALE})"
_on_numbers(f"instance_norm(input, weight, bias, eps, {_SCALE})", body=_instance_norm)
_BATCH_NORMS = ["batch_norm", *(f"batch_norm{dims}d" for dims in (1, 2, 3))]
_on_numbers(
    f"batch_norm{_NORM}",
    *_BATCH_NORMS[1:],
    body=_batch_norm,
    with_relu=[f"{name}_relu" for name in _BATCH_NORMS],
)


@op("relu6")
def relu6(qx: Tensor, inplace: bool = False) -> Tensor:
    """``relu6(qx)`` with the scale of ``qx``."""
    made = pellucid.clamp(qx, 0, 6)
    if not inplace:
        return made
    qx.copy_(made)
    return qx


@op("clamp")
def clamp(qx: Tensor, min: float | None = None, max: float | None = None) -> Tensor:
    """``clamp(qx, min, max)`` with the scale of ``qx``."""
    made: Tensor = pellucid.clamp(qx, min, max)
    return made


@op("threshold")
def threshold(qx: Tensor, threshold: float, value: float) -> Tensor:
    """``threshold(qx, threshold, value)`` with the scale of ``qx``."""
    made: Tensor = pellucid.threshold(qx, threshold, value)
    return made


@op("dropout")
def dropout(
    self: Tensor,
    output_scale: float,
    output_zero_point: int,
    p: float = 0.5,
    training: bool = False,
) -> Tensor:
    """Returns ``self``: quantized models are not trained."""
    return self
