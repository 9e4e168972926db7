"""``Optimizer``: parameter groups, state, hooks, state dicts.

SGD and Adam derive from it, and so do users' optimizers; read ``sgd.py`` next for what
an optimizer adds. A group is a plain dict of options and "params"; ``state`` maps each
parameter to a plain dict. Users may change both between steps, so every step reads
them again: nothing is cached.
"""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any, TypeAlias

import pellucid
from pellucid import _C, Tensor
from pellucid.optim._helpers import (
    DeviceDict as DeviceDict,
)
from pellucid.optim._helpers import (
    _capturable_doc as _capturable_doc,
)
from pellucid.optim._helpers import (
    _default_to_fused_or_foreach as _default_to_fused_or_foreach,
)
from pellucid.optim._helpers import (
    _device_dtype_check_for_fused as _device_dtype_check_for_fused,
)
from pellucid.optim._helpers import (
    _differentiable_doc as _differentiable_doc,
)
from pellucid.optim._helpers import (
    _disable_dynamo_if_unsupported as _disable_dynamo_if_unsupported,
)
from pellucid.optim._helpers import (
    _foreach_doc as _foreach_doc,
)
from pellucid.optim._helpers import (
    _fused_doc as _fused_doc,
)
from pellucid.optim._helpers import (
    _get_capturable_supported_devices as _get_capturable_supported_devices,
)
from pellucid.optim._helpers import (
    _get_scalar_dtype as _get_scalar_dtype,
)
from pellucid.optim._helpers import (
    _get_value as _get_value,
)
from pellucid.optim._helpers import (
    _maximize_doc as _maximize_doc,
)
from pellucid.optim._helpers import (
    _stack_if_compiling as _stack_if_compiling,
)
from pellucid.optim._helpers import (
    _use_grad_for_differentiable as _use_grad_for_differentiable,
)
from pellucid.optim._helpers import (
    _view_as_real as _view_as_real,
)
from pellucid.utils._foreach_utils import _group_tensors_by_device_and_dtype
from pellucid.utils.hooks import RemovableHandle

Group = dict[str, Any]
ParamsT: TypeAlias = Iterable[Tensor] | Iterable[Group] | Iterable[tuple[str, Tensor]]
_Hook = Callable[..., Any]
_Hooks = OrderedDict[int, _Hook]

_global_step_pre_hooks: _Hooks = OrderedDict()
_global_step_post_hooks: _Hooks = OrderedDict()

_HOOK_TABLES = (
    "_optimizer_step_pre_hooks",
    "_optimizer_step_post_hooks",
    "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks",
    "_optimizer_load_state_dict_pre_hooks",
    "_optimizer_load_state_dict_post_hooks",
)


def as_real(tensors: Iterable[Any]) -> list[Any]:
    """The values, with complex tensors viewed as pairs of real numbers.

    Optimizers treat a complex parameter as its real and imaginary parts.
    """
    return [
        pellucid.view_as_real(value)
        if isinstance(value, Tensor) and value.is_complex()
        else value
        for value in tensors
    ]


def as_real_states(states: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The states of parameters, with complex tensors viewed as real."""
    return [dict(zip(own, as_real(own.values()), strict=True)) for own in states]


class _Required:
    """The default of an option that every group must set."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


def _add(hooks: _Hooks, hook: _Hook, first: bool = False) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if first:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_optimizer_step_pre_hook(hook: _Hook) -> RemovableHandle:
    """Runs ``hook(optimizer, args, kwargs)`` before every optimizer's step."""
    return _add(_global_step_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: _Hook) -> RemovableHandle:
    """Runs ``hook(optimizer, args, kwargs)`` after every optimizer's step."""
    return _add(_global_step_post_hooks, hook)


def _names_of_ranges(optimizer: str) -> tuple[str, str]:
    """PyTorch's names of its steps and `zero_grad`, for the timeline."""
    step, zero_grad = f"{optimizer}.step", f"{optimizer}.zero_grad"
    return f"Optimizer.step#{step}", f"Optimizer.zero_grad#{zero_grad}"


class Optimizer:
    """Base class of optimizers.

    ``params`` is an iterable of tensors, of (name, tensor) pairs, or of dicts, each
    with "params" and options of its own; ``defaults`` fills in the options.
    """

    _group_tensors_by_device_and_dtype = staticmethod(
        _group_tensors_by_device_and_dtype
    )

    _takes_complex = True
    _has_complex = False
    _optimizer_step_pre_hooks: _Hooks
    _optimizer_step_post_hooks: _Hooks
    _optimizer_state_dict_pre_hooks: _Hooks
    _optimizer_state_dict_post_hooks: _Hooks
    _optimizer_load_state_dict_pre_hooks: _Hooks
    _optimizer_load_state_dict_post_hooks: _Hooks

    _range_names = _names_of_ranges("Optimizer")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._range_names = _names_of_ranges(cls.__name__)

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._prepare_hooks()
        if isinstance(params, Tensor):
            raise TypeError(
                "an optimizer takes an iterable of tensors or dicts, not one Tensor; "
                "put it in a list"
            )
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[Group] = []
        groups = list(params)
        if not groups:
            raise ValueError(
                "optimizer got an empty parameter list; an iterator is read only once"
            )
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _prepare_hooks(self) -> None:
        for table in _HOOK_TABLES:
            self.__dict__.setdefault(table, OrderedDict())
        self._patch_step_function()

    def _patch_step_function(self) -> None:
        """Lets the class's ``step`` run hooks; subclasses that do not call ``__init__``
        call this.
        """
        step = type(self).step
        if not getattr(step, "hooked", False):
            type(self).step = _hooked(step)  # type: ignore[method-assign]

    def __getstate__(self) -> dict[str, Any]:
        return {
            "defaults": self.defaults,
            "state": self.state,
            "param_groups": self.param_groups,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._has_complex = any(
            p.is_complex() for group in self.param_groups for p in group["params"]
        )
        self._prepare_hooks()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        groups = []
        for index, group in enumerate(self.param_groups):
            names = sorted(name for name in group if name != "params")
            options = "".join(f"    {name}: {group[name]}\n" for name in names)
            groups.append(f"Parameter Group {index}\n{options}")
        return f"{type(self).__name__} (\n" + "\n".join(groups) + ")"

    # Steps

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates the parameters from their gradients; every subclass must define it.

        ``closure`` computes the loss and the gradients again; its loss is returned.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define step()")

    def _step_groups(
        self, update: Callable[[Group], None], closure: Callable[[], Any] | None
    ) -> Any:
        """Runs ``closure``, then ``update`` on every group without recording."""
        loss = None
        if closure is not None:
            with pellucid.enable_grad():
                loss = closure()
        with pellucid.set_grad_enabled(self.defaults.get("differentiable", False)):
            for group in self.param_groups:
                try:
                    update(group)
                except NotImplementedError as error:
                    self._refuse_sparse(group, error)
                    raise
        return loss

    def _refuse_sparse(self, group: Group, error: NotImplementedError) -> None:
        grads = [p.grad for p in group["params"] if p.grad is not None]
        if not all(grad.layout is pellucid.strided for grad in grads):
            raise RuntimeError(
                f"{type(self).__name__} does not support sparse gradients, please "
                "consider SparseAdam instead"
            ) from error

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Sets the gradients to None, or fills them with zeros."""
        if not _C._timeline_is_on():
            return self._zero_grads(set_to_none)
        _C._timeline_run(self._range_names[1], self._zero_grads, set_to_none)

    def _zero_grads(self, set_to_none: bool) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                if set_to_none:
                    parameter.grad = None
                elif parameter.grad is not None:
                    if parameter.grad.grad_fn is not None:
                        parameter.grad.detach_()
                    else:
                        parameter.grad.requires_grad_(False)
                    parameter.grad.zero_()

    # Groups

    def add_param_group(self, param_group: Group) -> None:
        """Adds a dict with "params" and options; ``defaults`` fills in the others."""
        if not isinstance(param_group, dict):
            raise TypeError(
                f"a parameter group is a dict, not {type(param_group).__name__}"
            )
        _normalise_params(param_group)
        self._check_params(param_group["params"])
        for name, default in self.defaults.items():
            if name not in param_group and default is required:
                raise ValueError(f"a parameter group lacks the required option {name}")
            param_group.setdefault(name, default)
        self._check_against_groups(param_group)
        self.param_groups.append(param_group)

    def _check_params(self, params: list[Any]) -> None:
        for parameter in params:
            if not isinstance(parameter, Tensor):
                raise TypeError(
                    f"an optimizer works on Tensors, not {type(parameter).__name__}"
                )
            if parameter.is_complex() and not self._takes_complex:
                raise RuntimeError(
                    f"{type(self).__name__} does not support complex parameters; give "
                    "it torch.view_as_real(parameter.detach()) and fill its .grad"
                )
            self._has_complex |= parameter.is_complex()
            leaf = parameter.is_leaf or parameter.retains_grad
            if not (leaf or self.defaults.get("differentiable")):
                raise ValueError(
                    "an optimizer works on leaf tensors; this one was computed by "
                    f"{parameter.grad_fn}"
                )
        if len(params) != len(set(params)):
            warnings.warn(
                "a parameter group holds the same parameter more than once",
                stacklevel=4,
            )

    def _check_against_groups(self, param_group: Group) -> None:
        known = {p for group in self.param_groups for p in group["params"]}
        if not known.isdisjoint(param_group["params"]):
            raise ValueError("a parameter is in more than one parameter group")
        named = "param_names" in param_group
        if self.param_groups and named != ("param_names" in self.param_groups[0]):
            raise ValueError(
                "either all parameter groups have names or none: pass (name, tensor) "
                "pairs to all of them"
            )

    # State

    def state_dict(self) -> dict[str, Any]:
        """The state and the groups, with parameters replaced by their indices.

        The tensors in it are those of the optimizer, not copies.
        """
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        start = 0
        for group in self.param_groups:
            for number, parameter in enumerate(group["params"], start):
                numbers.setdefault(id(parameter), number)
            start += len(group["params"])
            packed = {name: group[name] for name in group if name != "params"}
            packed["params"] = [numbers[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {
            numbers[id(key)] if isinstance(key, Tensor) else key: value
            for key, value in self.state.items()
        }
        result: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, result)
            result = result if changed is None else changed
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes state and options from ``state_dict``; parameters match by position."""
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        saved = deepcopy(state_dict["param_groups"])
        self._check_saved_groups(saved)
        params = chain.from_iterable(group["params"] for group in self.param_groups)
        numbers = chain.from_iterable(group["params"] for group in saved)
        by_number = dict(zip(numbers, params, strict=True))
        options = {n: group for group in saved for n in group["params"]}
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in by_number:
                parameter = by_number[key]
                state[parameter] = _cast_state(parameter, value, options[key])
            else:
                state[key] = value
        for group, saved_group in zip(self.param_groups, saved, strict=True):
            saved_group["params"] = group["params"]
            if "param_names" in group:
                saved_group.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def _check_saved_groups(self, saved: list[Group]) -> None:
        given = [len(group["params"]) for group in saved]
        own = [len(group["params"]) for group in self.param_groups]
        if given != own:
            raise ValueError(
                "the state dict does not fit this optimizer: its groups have "
                f"{given} parameters, the optimizer's {own}"
            )

    # Hooks

    def register_step_pre_hook(self, hook: _Hook) -> RemovableHandle:
        """Runs ``hook(optimizer, args, kwargs)`` before each step.

        It may return new (args, kwargs).
        """
        return _add(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: _Hook) -> RemovableHandle:
        """Runs ``hook(optimizer, args, kwargs)`` after each step."""
        return _add(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(
        self, hook: _Hook, prepend: bool = False
    ) -> RemovableHandle:
        """Runs ``hook(optimizer)`` before a state dict is made."""
        return _add(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(
        self, hook: _Hook, prepend: bool = False
    ) -> RemovableHandle:
        """Runs ``hook(optimizer, state_dict)``, which may return another one."""
        return _add(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: _Hook, prepend: bool = False
    ) -> RemovableHandle:
        """Runs ``hook(optimizer, state_dict)``, which may return another one."""
        return _add(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: _Hook, prepend: bool = False
    ) -> RemovableHandle:
        """Runs ``hook(optimizer)`` after a state dict was loaded."""
        return _add(self._optimizer_load_state_dict_post_hooks, hook, prepend)


def _hooked(step: Callable[..., Any]) -> Callable[..., Any]:
    """``step`` wrapped in the step hooks; without hooks this costs one check."""

    @functools.wraps(step)
    def hooked(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if not (
            self._optimizer_step_pre_hooks
            or self._optimizer_step_post_hooks
            or _global_step_pre_hooks
            or _global_step_post_hooks
        ):
            if not _C._timeline_is_on():
                return step(self, *args, **kwargs)
            return _C._timeline_run(self._range_names[0], step, self, *args, **kwargs)
        name = self._range_names[0]
        return _C._timeline_run(name, _with_hooks, step, self, args, kwargs)

    hooked.hooked = True  # type: ignore[attr-defined]
    return hooked


def _with_hooks(
    step: Callable[..., Any], self: Optimizer, args: Any, kwargs: Any
) -> Any:
    pre_hooks = (
        *_global_step_pre_hooks.values(),
        *self._optimizer_step_pre_hooks.values(),
    )
    # Hooks receive the optimizer as the first argument, like the plain method.
    arguments: tuple[Any, ...] = (self, *args)
    for hook in pre_hooks:
        changed = hook(self, arguments, kwargs)
        if changed is None:
            continue
        if not (isinstance(changed, tuple) and len(changed) == 2):
            raise RuntimeError(
                "a step pre-hook must return None or (args, kwargs), not "
                f"{changed!r:.200}"
            )
        arguments, kwargs = changed
    result = step(*arguments, **kwargs)
    post_hooks = (
        *self._optimizer_step_post_hooks.values(),
        *_global_step_post_hooks.values(),
    )
    for hook in post_hooks:
        hook(self, arguments, kwargs)
    return result


def _normalise_params(param_group: Group) -> None:
    """Makes "params" a list of tensors, and "param_names" their names if given."""
    params = param_group["params"]
    if isinstance(params, Tensor):
        params = [params]
    elif isinstance(params, set):
        raise TypeError(
            "an optimizer's parameters need an order that stays the same from run to "
            "run, which a set does not have; pass a list"
        )
    params = list(params)
    named = [isinstance(parameter, tuple) for parameter in params]
    if any(named):
        if not all(named):
            raise ValueError(
                "either all parameters are (name, tensor) pairs or none; "
                f"{sum(named)} of {len(named)} are"
            )
        param_group["param_names"] = [name for name, _ in params]
        params = [parameter for _, parameter in params]
    param_group["params"] = params


def _cast_state(parameter: Tensor, value: Any, group: Group, name: Any = None) -> Any:
    """``value`` on the parameter's device and, except step counts, in its dtype."""
    if isinstance(value, Tensor):
        if name == "step":
            if group.get("capturable") or group.get("fused"):
                return value.to(dtype=pellucid.float32, device=parameter.device)
            return value
        if parameter.is_floating_point():
            return value.to(dtype=parameter.dtype, device=parameter.device)
        return value.to(device=parameter.device)
    if isinstance(value, dict):
        return {k: _cast_state(parameter, v, group, k) for k, v in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return type(value)(_cast_state(parameter, v, group) for v in value)  # type: ignore[call-arg]
    return value


def with_gradients(group: Group) -> tuple[list[Tensor], list[Tensor]]:
    """The group's parameters that have gradients, and their gradients."""
    params = group["params"]
    grads = [p.grad for p in params]
    for grad in grads:
        if grad is None:
            params = [p for p in params if p.grad is not None]
            return params, [p.grad for p in params]
    return params, grads


def check_options(
    *,
    lr: Any,
    foreach: bool | None,
    fused: bool | None,
    differentiable: bool,
    **not_negative: Any,
) -> None:
    """The checks that constructors share; raises ValueError or RuntimeError."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError(f"lr has one element, not {lr.numel()}")
    for name, value in {"lr": lr, **not_negative}.items():
        if not value >= 0.0:
            raise ValueError(f"{name} must not be negative: {value}")
    if fused and differentiable:
        raise RuntimeError("fused=True cannot be differentiated; leave it out")
    if fused and foreach:
        raise RuntimeError("fused=True and foreach=True exclude each other")
