"""``Module``: named parameters, buffers and submodules, and a ``forward``.

Every layer and every user's model derives from it. Its parts: registration and modes
here; traversals of the module tree in ``_traversal.py``; hooks and the hooked call in
``_calls.py``; conversions (``to``, ``half``, ...) in ``_conversion.py``; state dicts in
``_state.py``.

Contract with ``pellucid._C.ModuleBase``, the C base class:

- an instance stores its attributes in an ordinary ``__dict__`` (so pickling, copying
  and debuggers need nothing special) and can be weakly referenced;
- failed attribute lookup continues in the dicts ``_parameters``, ``_buffers``,
  ``_modules`` of that ``__dict__``, then raises AttributeError with ``name`` and
  ``obj`` set; ``ModuleBase.__getattr__`` is that second half, for subclasses that
  override it and call ``super().__getattr__``;
- ``module(...)`` calls ``module.forward(...)``, found by ordinary lookup, directly,
  until ``_C.enable_module_hooks()`` was called once in the process; from then on it
  calls ``module._call_impl(...)``, which checks whether this module has hooks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from pellucid import Tensor
from pellucid._package.lazy_exports import take_offers
from pellucid.nn.modules._calls import (
    CallMixin,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
    run_registration_hooks,
)
from pellucid.nn.modules._calls import _global_backward_hooks as _global_backward_hooks
from pellucid.nn.modules._calls import (
    _global_backward_pre_hooks as _global_backward_pre_hooks,
)
from pellucid.nn.modules._calls import (
    _global_buffer_registration_hooks as _global_buffer_registration_hooks,
)
from pellucid.nn.modules._calls import _global_forward_hooks as _global_forward_hooks
from pellucid.nn.modules._calls import (
    _global_forward_pre_hooks as _global_forward_pre_hooks,
)
from pellucid.nn.modules._calls import (
    _global_module_registration_hooks as _global_module_registration_hooks,
)
from pellucid.nn.modules._calls import (
    _global_parameter_registration_hooks as _global_parameter_registration_hooks,
)
from pellucid.nn.modules._conversion import ConversionMixin
from pellucid.nn.modules._state import (
    _EXTRA_STATE_KEY_SUFFIX as _EXTRA_STATE_KEY_SUFFIX,
)
from pellucid.nn.modules._state import StateMixin
from pellucid.nn.modules._state import _IncompatibleKeys as _IncompatibleKeys
from pellucid.nn.modules._traversal import TraversalMixin
from pellucid.nn.parameter import Buffer, Parameter

__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

_Self = TypeVar("_Self", bound="Module")


class _CallSignature:
    """``inspect.signature`` of a module: calls are in C and carry no signature.

    The signature of a class is that of its ``__init__``.
    """

    def __get__(self, instance: Module | None, owner: type[Module]) -> Any:
        if instance is None:
            raise AttributeError("__signature__")
        from inspect import Parameter, Signature

        kinds = {"args": Parameter.VAR_POSITIONAL, "kwargs": Parameter.VAR_KEYWORD}
        return Signature([Parameter(name, kind) for name, kind in kinds.items()])


class Module(CallMixin, ConversionMixin, StateMixin, TraversalMixin):
    """Base class of all layers and models.

    Assign parameters, buffers and modules as attributes after calling
    ``super().__init__()``, and define ``forward``.

    Example::

        class Scale(nn.Module):
            def __init__(self):
                super().__init__()
                self.factor = nn.Parameter(torch.ones(1))

            def forward(self, x):
                return x * self.factor
    """

    __signature__ = _CallSignature()
    dump_patches = False
    call_super_init = False
    training: bool
    _version = 1

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and (args or kwargs):
            what = f"argument {next(iter(kwargs))!r}" if kwargs else "arguments"
            raise TypeError(
                f"{type(self).__name__}.__init__() passed on {what} to "
                "nn.Module.__init__(), which takes none; keep them in the subclass"
            )
        state = self.__dict__
        state["training"] = True
        for name in ("_parameters", "_buffers", "_modules"):
            state[name] = {}
        state["_non_persistent_buffers_set"] = set()
        self._init_hooks()
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Computes the output; every subclass must define it."""
        raise NotImplementedError(
            f"{type(self).__name__} is missing its forward(): define it in the class"
        )

    # Registration

    def register_buffer(
        self, name: str, tensor: Tensor | None, persistent: bool = True
    ) -> None:
        """Adds a tensor of state that is not optimised, such as a running mean.

        ``persistent=False`` keeps it out of the state dict.
        """
        self._check_new_name("buffer", name, self._buffers_or_raise())
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"buffer {name!r} must be a Tensor or None, not {type(tensor).__name__}"
            )
        self._buffers[name] = run_registration_hooks("buffer", self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Adds a parameter; None reserves the name."""
        if "_parameters" not in self.__dict__:
            raise _uninitialised(self, "parameter", name)
        self._check_new_name("parameter", name, self._parameters)
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"parameter {name!r} must be an nn.Parameter or None, "
                    f"not {type(param).__name__}; wrap the tensor in nn.Parameter"
                )
            if param.grad_fn is not None:
                raise ValueError(
                    f"parameter {name!r} must be a leaf, not the result of "
                    f"{param.grad_fn}; compute it from a parameter in forward()"
                )
        self._parameters[name] = run_registration_hooks("parameter", self, name, param)

    def add_module(self, name: str, module: Module | None) -> None:
        """Adds a submodule under ``name``."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(
                f"submodule {name!r} must be an nn.Module or None, "
                f"not {type(module).__name__}"
            )
        self._check_new_name("module", name, self._modules)
        self._modules[name] = run_registration_hooks("module", self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """An alias of :meth:`add_module`."""
        self.add_module(name, module)

    def _buffers_or_raise(self) -> dict[str, Tensor | None]:
        if "_buffers" not in self.__dict__:
            raise _uninitialised(self, "buffer", "")
        buffers: dict[str, Tensor | None] = self._buffers
        return buffers

    def _check_new_name(self, what: str, name: Any, table: Mapping[str, Any]) -> None:
        if not isinstance(name, str):
            raise TypeError(f"a {what}'s name must be str, not {type(name).__name__}")
        if "." in name:
            raise KeyError(
                f"a {what}'s name cannot contain '.', which separates modules in "
                f"state dict keys: {name!r}"
            )
        if name == "":
            raise KeyError(f"a {what}'s name cannot be empty")
        if name not in table and hasattr(self, name):
            raise KeyError(
                f"{type(self).__name__} already has an attribute {name!r}; "
                f"choose another name for the {what}"
            )

    # Attributes

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Parameter):
            self._set_parameter(name, value)
        elif isinstance(value, Module):
            self._set_module(name, value)
        elif not self._set_registered(name, value):
            object.__setattr__(self, name, value)

    def _set_parameter(self, name: str, value: Parameter) -> None:
        if "_parameters" not in self.__dict__:
            raise _uninitialised(self, "parameter", name)
        self._forget(name, "_parameters")
        self.register_parameter(name, value)

    def _set_module(self, name: str, value: Module) -> None:
        if "_modules" not in self.__dict__:
            raise _uninitialised(self, "module", name)
        self._forget(name, "_modules")
        self._modules[name] = run_registration_hooks("module", self, name, value)

    def _set_registered(self, name: str, value: Any) -> bool:
        """Assigns to an existing parameter, module or buffer, or adds a Buffer."""
        state = self.__dict__
        for kind, table_name in (("parameter", "_parameters"), ("module", "_modules")):
            table = state.get(table_name)
            if table is not None and name in table:
                if value is not None:
                    raise _wrong_assignment(self, kind, name, value)
                table[name] = run_registration_hooks(kind, self, name, None)
                return True
        buffers = state.get("_buffers")
        known = buffers is not None and name in buffers
        if not known and not isinstance(value, Buffer):
            return False
        if value is not None and not isinstance(value, Tensor):
            raise _wrong_assignment(self, "buffer", name, value)
        if isinstance(value, Buffer):
            self._set_buffer(name, value, known)
        else:
            state["_buffers"][name] = run_registration_hooks(
                "buffer", self, name, value
            )
        return True

    def _set_buffer(self, name: str, value: Any, known: bool) -> None:
        self._buffers_or_raise()
        if not known:
            self._forget(name, "_buffers")
        self.register_buffer(name, value, value.persistent)

    def _forget(self, name: str, future: str) -> None:
        """Removes ``name`` from all tables except ``future``."""
        state = self.__dict__
        state.pop(name, None)
        for table in ("_parameters", "_buffers", "_modules"):
            if table != future:
                state[table].pop(name, None)
        state["_non_persistent_buffers_set"].discard(name)

    def __delattr__(self, name: str) -> None:
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                del table[name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = {*dir(type(self)), *self.__dict__}
        names |= {*self._parameters, *self._buffers, *self._modules}
        return sorted(name for name in names if not name[0].isdigit())

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._restore_hooks()

    # Modes

    def apply(self: _Self, fn: Callable[[Module], None]) -> _Self:
        """Calls ``fn`` on every submodule, then on this module; returns it."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self: _Self, mode: bool = True) -> _Self:
        """Sets training mode (dropout and such) on the module and its submodules."""
        if not isinstance(mode, bool):
            raise ValueError(f"train() takes True or False, not {mode!r}")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self: _Self) -> _Self:
        """Sets evaluation mode: ``train(False)``."""
        return self.train(False)

    def requires_grad_(self: _Self, requires_grad: bool = True) -> _Self:
        """Sets ``requires_grad`` of all parameters."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Sets the gradients to None, or fills them with zeros."""
        for parameter in self.parameters():
            if parameter.grad is None:
                continue
            if set_to_none:
                parameter.grad = None
            else:
                if parameter.grad.grad_fn is not None:
                    parameter.grad.detach_()
                else:
                    parameter.grad.requires_grad_(False)
                parameter.grad.zero_()

    def share_memory(self: _Self) -> _Self:
        """Moves parameters and buffers to memory that other processes can map.

        Processes that receive the module see each other's updates of them.
        """
        return self._apply(lambda tensor: tensor.share_memory_())

    if TYPE_CHECKING:  # implemented in _dynamo/in_place.py

        def compile(self, *args: Any, **kwargs: Any) -> None: ...

    def __getstate__(self) -> dict[str, Any]:
        """The attributes, without compiled state."""
        state = self.__dict__.copy()
        state.pop("_compiled_call_impl", None)
        return state

    # Printing

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """The text between the parentheses of the repr; overridden by subclasses."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [
            f"({name}): {_indented(repr(module), 2)}"
            for name, module in self._modules.items()
        ]
        if len(lines) <= 1 and not children:
            return f"{self._get_name()}({extra})"
        body = "\n  ".join(lines + children)
        return f"{self._get_name()}(\n  {body}\n)"


take_offers("nn.modules.module.Module", Module)


def _indented(text: str, spaces: int) -> str:
    """``text`` with every line but the first indented."""
    return text.replace("\n", "\n" + " " * spaces)


def _uninitialised(module: Module, what: str, name: str) -> AttributeError:
    return AttributeError(
        f"cannot assign {what} {name!r} before {type(module).__name__}'s __init__ "
        "called super().__init__()"
    )


def _wrong_assignment(module: Module, kind: str, name: str, value: object) -> TypeError:
    wanted = {
        "parameter": "an nn.Parameter",
        "module": "an nn.Module",
        "buffer": "a Tensor",
    }[kind]
    return TypeError(
        f"{type(module).__name__}.{name} is a registered {kind}: assign {wanted} or "
        f"None, not {type(value).__name__}"
    )
