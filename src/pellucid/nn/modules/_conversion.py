"""Moving and casting all tensors of a module: ``to``, ``half``, ``to_empty``, ...

A conversion keeps the Parameter objects (optimizers hold them) and replaces their data,
unless ``pellucid.__future__`` says otherwise or the new data is on another device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pellucid
from pellucid import _C, Tensor
from pellucid import __future__ as switches
from pellucid._C import ModuleBase
from pellucid.nn.parameter import Parameter

_Self = TypeVar("_Self", bound="ConversionMixin")
_Fn = Callable[[Tensor], Tensor]


class ConversionMixin(ModuleBase):
    """The part of ``Module`` that converts its tensors."""

    children: Callable[[], Iterator[Any]]

    def _apply(self: _Self, fn: _Fn, recurse: bool = True) -> _Self:
        """Replaces every parameter, gradient and buffer ``t`` by ``fn(t)``."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, parameter in self._parameters.items():
            if parameter is not None:
                self._parameters[name] = _converted(parameter, fn)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self: _Self, *args: Any, **kwargs: Any) -> _Self:
        """Moves and casts: ``to(device)``, ``to(dtype)``, ``to(tensor)`` or both.

        Only floating-point and complex tensors are cast, and only tensors with 4 or 5
        dims take a ``memory_format``. In place; returns the module.
        """
        target = _parse_to(args, kwargs)
        dtype = target.get("dtype")
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"Module.to() casts to floating-point or complex dtypes, not {dtype}"
            )
        only_move = {key: target[key] for key in target if key != "dtype"}

        def convert(tensor: Tensor) -> Tensor:
            castable = tensor.is_floating_point() or tensor.is_complex()
            given = target if castable else only_move
            if tensor.dim() not in (4, 5):
                given = {k: v for k, v in given.items() if k != "memory_format"}
            return tensor.to(**given) if given else tensor

        return self._apply(convert)

    def type(self: _Self, dst_type: Any) -> _Self:
        """Casts all parameters and buffers to ``dst_type``."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def _cast(self: _Self, dtype: Any) -> _Self:
        return self._apply(
            lambda tensor: tensor.to(dtype) if tensor.is_floating_point() else tensor
        )

    def float(self: _Self) -> _Self:
        """Casts the floating-point tensors to float32."""
        return self._cast(pellucid.float32)

    def double(self: _Self) -> _Self:
        """Casts the floating-point tensors to float64."""
        return self._cast(pellucid.float64)

    def half(self: _Self) -> _Self:
        """Casts the floating-point tensors to float16."""
        return self._cast(pellucid.float16)

    def bfloat16(self: _Self) -> _Self:
        """Casts the floating-point tensors to bfloat16."""
        return self._cast(pellucid.bfloat16)

    def cpu(self: _Self) -> _Self:
        """Moves all tensors to the CPU."""
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self: _Self, device: Any = None) -> _Self:
        """Moves all tensors to a CUDA device."""
        target = pellucid.device("cuda" if device is None else device)
        return self._apply(lambda tensor: tensor.to(target))

    def to_empty(self: _Self, *, device: Any, recurse: bool = True) -> _Self:
        """Moves to ``device`` without copying: the values are uninitialised."""
        return self._apply(
            lambda tensor: pellucid.empty_like(tensor, device=device), recurse
        )


def _converted(parameter: Parameter, fn: _Fn) -> Parameter:
    with pellucid.no_grad():
        data = fn(parameter)
        grad = parameter.grad
        grad_data = None if grad is None else fn(grad)
    if hasattr(type(data), "__tensor_flatten__"):
        converted = Parameter(data, parameter.requires_grad)
        if grad_data is not None:
            converted.grad = grad_data
        # A wrapper has no memory of its own that could be replaced.
        from pellucid.utils._swapping import exchange

        exchange(parameter, converted)
        return parameter
    overwrite = switches.get_overwrite_module_params_on_conversion()
    if not overwrite and data.device.type == parameter.device.type:
        parameter.data = data
        if grad is not None and grad_data is not None:
            grad.data = grad_data
        return parameter
    result: Parameter = Parameter(data, parameter.requires_grad)
    if grad is not None and grad_data is not None:
        result.grad = grad_data.requires_grad_(grad.requires_grad)
    return result


def _parse_to(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Keywords for ``Tensor.to``: device, dtype, non_blocking, memory_format."""
    target = dict(kwargs)
    rest = list(args)
    other = target.pop("tensor", None)
    if rest and isinstance(rest[0], Tensor):
        other = rest.pop(0)
    if other is not None:
        target["device"], target["dtype"] = other.device, other.dtype
    elif rest and isinstance(rest[0], pellucid.dtype):
        target["dtype"] = rest.pop(0)
    elif rest:
        target["device"] = rest.pop(0)
        if rest and (rest[0] is None or isinstance(rest[0], pellucid.dtype)):
            target["dtype"] = rest.pop(0)
    if rest:
        target["non_blocking"] = rest.pop(0)
    unknown = set(target) - {"device", "dtype", "non_blocking", "memory_format"}
    if rest or unknown:
        raise TypeError(
            f"Module.to() got {args!r:.100} {kwargs!r:.100}; it takes a device, a "
            "dtype, both in that order, or a tensor, then non_blocking"
        )
    if target.get("device") is not None:
        target["device"] = pellucid.device(target["device"])
    return {key: value for key, value in target.items() if value is not None}


def _parsed_to(
    *args: Any, **kwargs: Any
) -> tuple[pellucid.device | None, pellucid.dtype | None, bool, Any]:
    """Parses the arguments of ``Module.to``: the device, the dtype,
    ``non_blocking`` and the memory format. Libraries that override ``to`` call it.
    """
    target = _parse_to(args, kwargs)
    device, dtype = target.get("device"), target.get("dtype")
    non_blocking = bool(target.get("non_blocking", False))
    return device, dtype, non_blocking, target.get("memory_format")


vars(_C._nn)["_parse_to"] = _parsed_to
