"""``Parameter`` and ``Buffer``: tensors that a module registers on assignment.

They add no state to a tensor: ``Module.__setattr__`` reads the class. Read
``modules/module.py`` next.
"""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import _C, Tensor

_TensorMeta = type(Tensor)


class _ParameterMeta(_TensorMeta):  # type: ignore[valid-type, misc]
    """``isinstance`` accepts tensors with the class's mark.

    A Tensor subclass keeps its class when it becomes a Parameter or Buffer and is
    marked by an attribute instead.
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


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that is part of a module's state and is optimised.

    Shares storage with ``data``; always a leaf of the autograd graph.

    Example::

        self.scale = nn.Parameter(torch.ones(3))
    """

    __torch_function__: Any = _C._disabled_torch_function_impl
    _mark = "_is_param"
    _is_param = True

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Any:
        if data is None:
            data = pellucid.empty(0)
        if requires_grad and not (data.is_floating_point() or data.is_complex()):
            raise RuntimeError(
                f"Parameter: tensors of {data.dtype} have no gradients; pass "
                "requires_grad=False or convert to a float dtype"
            )
        if type(data) is Tensor or type(data) is Parameter:
            return Tensor._make_subclass(cls, data, requires_grad)
        # A subclass keeps its class, so that its overrides keep working.
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


_C._set_parameter_class(Parameter)  # ops treat instances as plain tensors


class Buffer(Tensor, metaclass=_ParameterMeta):
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
    """A tensor of a lazy module without a shape yet; see ``modules/lazy.py``."""

    cls_to_become: type
    data: Tensor

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Allocates memory of ``shape`` and changes to the ordinary class."""
        dtype = self.data.dtype if dtype is None else dtype
        self.data = pellucid.empty(shape, device=device, dtype=dtype)
        self.__class__ = self.cls_to_become

    def __getattribute__(self, name: str) -> Any:
        if name != "shape":
            return super().__getattribute__(name)
        raise RuntimeError(
            "this tensor of a lazy module has no shape before the first input: run a "
            "batch through the module first"
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class UninitializedParameter(  # type: ignore[metaclass, misc]
    UninitializedTensorMixin, Parameter
):
    """A Parameter that gets its shape from ``materialize``."""

    cls_to_become = Parameter

    def __new__(
        cls, requires_grad: bool = True, device: Any = None, dtype: Any = None
    ) -> Any:
        data = pellucid.empty(0, device=device, dtype=dtype)
        return Tensor._make_subclass(cls, data, requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        copied = memo.setdefault(
            id(self), type(self)(self.requires_grad, dtype=self.data.dtype)
        )
        return copied

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return type(self), (self.requires_grad, None, self.data.dtype)


class UninitializedBuffer(  # type: ignore[misc]
    UninitializedTensorMixin, Tensor
):
    """A buffer that gets its shape from ``materialize``."""

    cls_to_become = Tensor

    def __new__(
        cls,
        requires_grad: bool = False,
        device: Any = None,
        dtype: Any = None,
        persistent: bool = True,
    ) -> Any:
        data = pellucid.empty(0, device=device, dtype=dtype)
        result: Any = Tensor._make_subclass(cls, data, requires_grad)
        result.persistent = persistent
        result._is_buffer = True
        return result


def is_lazy(value: Any) -> bool:
    """Whether ``value`` is a tensor without a shape yet."""
    return isinstance(value, UninitializedTensorMixin)


def _rebuild_parameter(
    data: Tensor, requires_grad: bool, attributes: dict[str, Any]
) -> Parameter:
    """Rebuilds an uninitialised tensor; pickles refer to it by name."""
    parameter: Parameter = Parameter(data, requires_grad)
    if attributes:
        parameter.__dict__.update(attributes)
    return parameter
