"""Tensors that a module registers by being assigned to it.

``Parameter`` and ``Buffer`` carry no state of their own: the class is the message that
``Module.__setattr__`` reads. Read ``modules/module.py`` next.
"""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import _C, Tensor

_TensorMeta = type(Tensor)


class _MarkedMeta(_TensorMeta):  # type: ignore[valid-type, misc]
    """Counts tensors that carry the class's mark as its instances.

    A Tensor subclass stays itself when it becomes a Parameter or Buffer; the mark, an
    attribute of the tensor, then says what it is.
    """

    def __instancecheck__(cls, instance: Any) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        mark = cls.__dict__.get("_mark")
        return (
            mark is not None
            and isinstance(instance, Tensor)
            and getattr(instance, mark, False)
        )


class Parameter(Tensor, metaclass=_MarkedMeta):
    """A tensor that is part of a module's state and is optimised.

    Shares storage with ``data``; a leaf of the autograd graph whatever made ``data``.

    Example::

        self.scale = nn.Parameter(torch.ones(3))
    """

    __torch_function__: Any = _C._disabled_torch_function_impl
    _mark = "_is_param"

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Any:
        if data is None:
            data = pellucid.empty(0)
        if type(data) is Tensor or type(data) is Parameter:
            return Tensor._make_subclass(cls, data, requires_grad)
        # A subclass stays itself, so that its overrides go on working.
        result: Any = data.detach().requires_grad_(requires_grad)
        if type(result) is not type(data):
            raise TypeError(
                f"Parameter got a {type(data).__name__} whose detach() returns a "
                f"{type(result).__name__}; a Tensor subclass must detach to itself "
                "to become a Parameter"
            )
        result.__dict__["_is_param"] = True
        return result

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) in memo:
            return memo[id(self)]
        copied = self.data.clone(memory_format=pellucid.preserve_format)
        result = type(self)(copied, self.requires_grad)
        memo[id(self)] = result
        return result

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        text = super().__repr__(tensor_contents=tensor_contents)  # type: ignore[call-arg]
        return "Parameter containing:\n" + text

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        attributes = {k: v for k, v in self.__dict__.items() if k != "_is_param"}
        return _rebuild_parameter, (self.data, self.requires_grad, attributes)


_C._set_parameter_class(Parameter)  # ops treat its instances as plain tensors


class Buffer(Tensor, metaclass=_MarkedMeta):
    """A tensor that is part of a module's state and is not optimised.

    ``persistent=False`` keeps it out of the state dict.
    """

    __torch_function__: Any = _C._disabled_torch_function_impl
    _mark = "_is_buffer"

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Any:
        if data is None:
            data = pellucid.empty(0)
        result: Any = data.detach().requires_grad_(data.requires_grad)
        result.persistent = persistent
        result._is_buffer = True
        return result


class UninitializedTensorMixin:
    """Marks parameters of lazy modules; Pellucid has none yet, so nothing has it."""


class UninitializedParameter(  # type: ignore[metaclass]
    UninitializedTensorMixin, Parameter
):
    """Refuses to be made: lazy modules, which would give it a shape, are missing."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            "Pellucid has no lazy modules, so an UninitializedParameter could never "
            "get its shape; give the layer its input size and use nn.Parameter"
        )


def _rebuild_parameter(
    data: Tensor, requires_grad: bool, attributes: dict[str, Any]
) -> Parameter:
    """What ``__reduce_ex__`` takes apart; pickles hold its name."""
    parameter: Parameter = Parameter(data, requires_grad)
    if attributes:
        parameter.__dict__.update(attributes)
    return parameter
