"""Parameters computed from others: ``module.weight`` becomes ``f(original)``.

``register_parametrization`` moves the parameter into ``module.parametrizations`` and
changes the module's class to a subclass in which the name is a property.
``parametrizations.py`` has the usual functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.nn.modules.container import ModuleDict, ModuleList
from pellucid.nn.modules.module import Module
from pellucid.nn.parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]

_depth = 0
_cache: dict[tuple[int, str], Tensor] = {}


@contextmanager
def cached() -> Iterator[None]:
    """A context that caches each parametrized tensor."""
    global _depth
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1
        if not _depth:
            _cache.clear()


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, and its original tensors.

    The ``right_inverse`` methods, last to first, map a value to the original, or to
    several: ``original0``, ``original1``, ...
    """

    def __init__(
        self, modules: Sequence[Module], original: Tensor, unsafe: bool = False
    ) -> None:
        if not modules:
            raise ValueError("a parametrization needs at least one module")
        super().__init__(modules)
        self.unsafe = unsafe
        value: Any = original
        with pellucid.no_grad(), suppress(NotImplementedError):
            for module in reversed(list(self)):
                inverse = getattr(module, "right_inverse", None)
                if inverse is not None:
                    value = inverse(value)
        self.is_tensor = isinstance(value, Tensor)
        if self.is_tensor:
            self._enter("original", value, original)
        else:
            self.ntensors = len(value)
            for k, part in enumerate(value):
                self._enter(f"original{k}", part, original)
        if not unsafe:
            self._check(original)

    def _enter(self, name: str, value: Tensor, original: Tensor) -> None:
        if not isinstance(original, Parameter):
            self.register_buffer(name, value)
        elif value is original:
            self.register_parameter(name, original)
        else:
            made = Parameter(value.detach(), original.requires_grad)
            self.register_parameter(name, made)

    def _check(self, original: Tensor) -> None:
        with pellucid.no_grad():
            found = self()
        if not isinstance(found, Tensor):
            raise ValueError(
                f"a parametrization returns a tensor, not {type(found).__name__}"
            )
        if found.dtype != original.dtype or found.shape != original.shape:
            raise ValueError(
                f"the parametrization maps {original.dtype} of shape "
                f"{tuple(original.shape)} to {found.dtype} of shape "
                f"{tuple(found.shape)}; give unsafe=True if this is intended"
            )

    def right_inverse(self, value: Tensor) -> None:
        """Sets the originals so that the parametrized tensor is ``value``."""
        with pellucid.no_grad():
            found: Any = value
            for module in reversed(list(self)):
                inverse = getattr(module, "right_inverse", None)
                if inverse is None:
                    raise RuntimeError(
                        f"{type(module).__name__} has no right_inverse, so the "
                        "parametrized tensor cannot be assigned to"
                    )
                found = inverse(found)
            if self.is_tensor:
                self.original.copy_(found)
                return
            for k, part in enumerate(found):
                getattr(self, f"original{k}").copy_(part)

    def forward(self) -> Tensor:
        """The parametrized tensor."""
        first, *others = list(self)
        if self.is_tensor:
            value = first(self.original)
        else:
            value = first(
                *(getattr(self, f"original{k}") for k in range(self.ntensors))
            )
        for module in others:
            value = module(value)
        result: Tensor = value
        return result


def _own_class(module: Module) -> None:
    """Changes the module's class to a subclass of its own, for properties."""
    kind = type(module)

    def copied(self: Module, memo: dict[int, Any]) -> Any:
        found = memo.get(id(self))
        if found is None:
            found = memo[id(self)] = object.__new__(type(self))
            found.__dict__.update(deepcopy(self.__dict__, memo))
        return found

    def refused(self: Module) -> Any:
        raise RuntimeError(
            "a parametrized module cannot be pickled, as its class is made at run "
            "time; save its state_dict()"
        )

    members = {"__getstate__": refused, "__deepcopy__": copied}
    module.__class__ = type(f"Parametrized{kind.__name__}", (kind,), members)


def _property(name: str) -> property:
    def read(self: Any) -> Tensor:
        if not _depth:
            result: Tensor = self.parametrizations[name]()
            return result
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = self.parametrizations[name]()
        return _cache[key]

    def write(self: Any, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    return property(read, write)


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Makes ``module.tensor_name`` the output of ``parametrization``.

    Registering another one composes them. ``unsafe`` allows another shape or dtype.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        table: Any = module.parametrizations
        existing = table[tensor_name]
        existing.append(parametrization)
        if not unsafe:
            existing._check(getattr(module, tensor_name))
        return module
    tensors = {**module._parameters, **module._buffers}
    if tensors.get(tensor_name) is None:
        raise ValueError(
            f"{type(module).__name__} has no parameter or buffer {tensor_name!r}"
        )
    original = tensors[tensor_name]
    functions = ParametrizationList([parametrization], original, unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        _own_class(module)
        module.parametrizations = ModuleDict()
    setattr(type(module), tensor_name, _property(tensor_name))
    table = module.parametrizations
    table[tensor_name] = functions
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether the module, or its tensor of that name, is parametrized."""
    table = module._modules.get("parametrizations")
    if not isinstance(table, ModuleDict):
        return False
    return len(table) > 0 if tensor_name is None else tensor_name in table


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Makes ``tensor_name`` an ordinary parameter again.

    It keeps its current value, or gets the original if not ``leave_parametrized``.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"{type(module).__name__}.{tensor_name} is not parametrized")
    table: Any = module.parametrizations
    functions = table[tensor_name]
    if not leave_parametrized and not functions.is_tensor:
        raise ValueError(
            "there are several originals: leave_parametrized=True keeps the value"
        )
    was_parameter = len(functions._parameters) > 0
    value = functions.original if functions.is_tensor else None
    if leave_parametrized:
        with pellucid.no_grad():
            value = functions().clone()
    delattr(type(module), tensor_name)
    del table[tensor_name]
    if not len(table):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    if not was_parameter:
        module.register_buffer(tensor_name, value)
    elif isinstance(value, Parameter):
        module.register_parameter(tensor_name, value)
    else:
        module.register_parameter(tensor_name, Parameter(value))
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class that the module had before it was parametrized."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Copies the parametrizations of a module, with their originals, to another one."""
    if not is_parametrized(from_module, tensor_name):
        return to_module
    table: Any = from_module.parametrizations
    for name in [tensor_name] if tensor_name is not None else list(table):
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach()))
        for function in table[name]:
            register_parametrization(to_module, name, deepcopy(function), unsafe=True)
        own: Any = to_module.parametrizations
        own[name].load_state_dict(table[name].state_dict())
    return to_module
