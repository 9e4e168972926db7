"""What optimizers of libraries import from ``torch.optim.optimizer``.

They are written as PyTorch's own are; ours use none of it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import pellucid
from pellucid import Tensor

_T = TypeVar("_T")
DeviceDict: TypeAlias = dict[pellucid.device | None, Tensor]

# Parts of docstrings.
_foreach_doc = "foreach (bool, optional): whether a step handles all parameters at once"
_fused_doc = "fused (bool, optional): whether a step is one kernel"
_capturable_doc = "capturable (bool, optional): whether a graph may capture a step"
_differentiable_doc = "differentiable (bool, optional): whether a step is recorded"
_maximize_doc = "maximize (bool, optional): whether the objective is to grow"


def _use_grad_for_differentiable(step: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a step record gradients if the option ``differentiable`` is set."""

    @functools.wraps(step)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        with pellucid.set_grad_enabled(bool(self.defaults["differentiable"])):
            return step(self, *args, **kwargs)

    return run


def _default_to_fused_or_foreach(
    params: list[Tensor], differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """PyTorch's defaults of ``fused`` and ``foreach``; both are for accelerators."""
    if differentiable:
        return False, False
    plain = all(p is None or type(p) in (Tensor, pellucid.nn.Parameter) for p in params)
    given = [p for p in params if p is not None]
    devices = {p.device.type for p in given}
    fused = use_fused and plain and "meta" not in devices
    fused = fused and all(p.is_floating_point() for p in given)
    return fused, plain and not fused and not devices & {"cpu", "meta"}


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """The devices on which steps can be captured as graphs: PyTorch's list."""
    found = ["cuda", "xpu", "hpu", "privateuseone"]
    return [*found, "xla"] if supports_xla else found


def _disable_dynamo_if_unsupported(
    single_tensor_fn: Any = None,
) -> Callable[[_T], _T]:
    """Leaves the function as it is: any function can run in a compiled one."""
    return lambda function: function


def _get_value(x: Any) -> Any:
    """The number of a tensor of one element; others as given."""
    return x.item() if isinstance(x, Tensor) else x


def _stack_if_compiling(x: Any) -> Any:
    """The tensors as they are: what is compiled runs as Python, too."""
    return x


def _get_scalar_dtype(is_fused: bool | None = None) -> pellucid.dtype:
    """The dtype of a step's number."""
    is_double = pellucid.get_default_dtype() == pellucid.float64
    return pellucid.float64 if is_double and not is_fused else pellucid.float32


def _device_dtype_check_for_fused(p: Tensor, cuda_unsupported: bool = False) -> None:
    """RuntimeError unless the parameter is of floats."""
    if not p.is_floating_point():
        raise RuntimeError(
            f"fused=True needs parameters of floating-point dtypes, not {p.dtype}"
        )


def _view_as_real(params: list[Tensor], *state_and_grads: list[Tensor]) -> None:
    """Replaces complex tensors of the lists by views of their parts."""
    for place, parameter in enumerate(params):
        if parameter.is_complex():
            for each in (params, *state_and_grads):
                each[place] = pellucid.view_as_real(each[place])
