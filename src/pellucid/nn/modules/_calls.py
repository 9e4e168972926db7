"""Hooks of modules, and the call that runs them.

``ModuleBase.__call__`` calls ``forward`` directly until the process registers its first
hook (see the contract in ``module.py``); after that it calls ``_call_impl`` below.
Order of a hooked call: global pre-hooks, own pre-hooks, forward, global forward hooks,
own forward hooks; full backward hooks wrap forward in two identity nodes
(``utils/hooks.py``).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from pellucid import _C, Tensor
from pellucid._C import ModuleBase
from pellucid.utils.hooks import BackwardHook, RemovableHandle

_Hooks = OrderedDict[int, Any]
_Hook = Callable[..., Any]

_global_forward_pre_hooks: _Hooks = OrderedDict()
_global_forward_hooks: _Hooks = OrderedDict()
_global_forward_hooks_always_called: _Hooks = OrderedDict()
_global_forward_hooks_with_kwargs: _Hooks = OrderedDict()
_global_backward_pre_hooks: _Hooks = OrderedDict()
_global_backward_hooks: _Hooks = OrderedDict()
_global_parameter_registration_hooks: _Hooks = OrderedDict()
_global_buffer_registration_hooks: _Hooks = OrderedDict()
_global_module_registration_hooks: _Hooks = OrderedDict()
_registration_hooks: dict[str, _Hooks] = {
    "parameter": _global_parameter_registration_hooks,
    "buffer": _global_buffer_registration_hooks,
    "module": _global_module_registration_hooks,
}

_HOOK_TABLES = (
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_backward_pre_hooks",
    "_backward_hooks",
    "_state_dict_pre_hooks",
    "_state_dict_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)
_CALL_TABLES = (
    "_forward_pre_hooks",
    "_forward_hooks",
    "_backward_pre_hooks",
    "_backward_hooks",
)


def _add(
    table: _Hooks, hook: _Hook, *flags: _Hooks, first: bool = False
) -> RemovableHandle:
    """Adds ``hook`` to ``table`` and marks it in each of ``flags``."""
    handle = RemovableHandle(table, extra_dict=list(flags))
    table[handle.id] = hook
    for flag in flags:
        flag[handle.id] = True
    if first:
        table.move_to_end(handle.id, last=False)
    return handle


def _add_called(
    table: _Hooks, hook: _Hook, *flags: _Hooks, first: bool = False
) -> RemovableHandle:
    """As ``_add``, for hooks that run at each call."""
    _C.enable_module_hooks()
    return _add(table, hook, *flags, first=first)


def run_registration_hooks(kind: str, module: Any, name: str, value: Any) -> Any:
    """``value`` as the global registration hooks replace it before it is stored."""
    for hook in _registration_hooks[kind].values():
        changed = hook(module, name, value)
        if changed is not None:
            value = changed
    return value


class CallMixin(ModuleBase):
    """The part of ``Module`` that registers hooks and runs them around ``forward``."""

    forward: Callable[..., Any]
    _is_full_backward_hook: bool | None

    def _init_hooks(self) -> None:
        state = self.__dict__
        for table in _HOOK_TABLES:
            state[table] = OrderedDict()
        state["_is_full_backward_hook"] = None

    def _restore_hooks(self) -> None:
        """Adds tables that older pickles lack; enables hooked calls if there are
        hooks.
        """
        state = self.__dict__
        for table in _HOOK_TABLES:
            state.setdefault(table, OrderedDict())
        state.setdefault("_is_full_backward_hook", None)
        state.setdefault("_non_persistent_buffers_set", set())
        if any(state[table] for table in _CALL_TABLES):
            _C.enable_module_hooks()

    # Registration

    def register_forward_pre_hook(
        self, hook: _Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Runs ``hook(module, args)`` before forward; it may return new arguments.

        With ``with_kwargs``: ``hook(module, args, kwargs)``, returning both or None.
        """
        flags = [self._forward_pre_hooks_with_kwargs] if with_kwargs else []
        return _add_called(self._forward_pre_hooks, hook, *flags, first=prepend)

    def register_forward_hook(
        self,
        hook: _Hook,
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Runs ``hook(module, args, output)`` after forward; may return a new output.

        With ``with_kwargs``: ``hook(module, args, kwargs, output)``. ``always_call``
        runs it even when forward raises.
        """
        flags = [self._forward_hooks_with_kwargs] if with_kwargs else []
        if always_call:
            flags.append(self._forward_hooks_always_called)
        return _add_called(self._forward_hooks, hook, *flags, first=prepend)

    def register_full_backward_pre_hook(
        self, hook: _Hook, prepend: bool = False
    ) -> RemovableHandle:
        """Runs ``hook(module, grad_output)`` before the module's backward."""
        return _add_called(self._backward_pre_hooks, hook, first=prepend)

    def register_full_backward_hook(
        self, hook: _Hook, prepend: bool = False
    ) -> RemovableHandle:
        """Runs ``hook(module, grad_input, grad_output)``; may return grad_input."""
        self._choose_backward_hooks(full=True)
        return _add_called(self._backward_hooks, hook, first=prepend)

    def register_backward_hook(self, hook: _Hook) -> RemovableHandle:
        """Deprecated: hooks the node that computed the output.

        Use :meth:`register_full_backward_hook`.
        """
        self._choose_backward_hooks(full=False)
        return _add_called(self._backward_hooks, hook)

    def _choose_backward_hooks(self, full: bool) -> None:
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(
                f"{type(self).__name__} has backward hooks of the other kind: a module "
                "takes hooks from register_full_backward_hook or from "
                "register_backward_hook, not from both"
            )
        self._is_full_backward_hook = full

    def register_state_dict_pre_hook(self, hook: _Hook) -> RemovableHandle:
        """Runs ``hook(module, prefix, keep_vars)`` before a state dict is made."""
        return _add(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: _Hook) -> RemovableHandle:
        """Runs ``hook(module, state_dict, prefix, local_metadata)`` afterwards."""
        hook._from_public_api = True  # type: ignore[attr-defined]
        return _add(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: _Hook) -> RemovableHandle:
        """Like the public method, but ``hook`` may return another state dict."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "this hook was registered with register_state_dict_post_hook, whose "
                "hooks return None; use another function here"
            )
        return _add(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: _Hook) -> RemovableHandle:
        """Runs ``hook(module, state_dict, prefix, ...)`` before loading."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(
        self, hook: _Hook, with_module: bool = False
    ) -> RemovableHandle:
        table = self._load_state_dict_pre_hooks
        return _add(table, LoadHook(hook, self if with_module else None))

    def register_load_state_dict_post_hook(self, hook: _Hook) -> RemovableHandle:
        """Runs ``hook(module, incompatible_keys)``, which may change its keys."""
        return _add(self._load_state_dict_post_hooks, hook)

    # The hooked call

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        """The call once any module of the process has had a hook or was compiled."""
        compiled = self.__dict__.get("_compiled_call_impl")
        if compiled is not None:
            return compiled(*args, **kwargs)
        return self._call_as_written(*args, **kwargs)

    def _call_as_written(self, *args: Any, **kwargs: Any) -> Any:
        if not (
            self._forward_pre_hooks
            or self._forward_hooks
            or self._backward_pre_hooks
            or self._backward_hooks
            or _global_forward_pre_hooks
            or _global_forward_hooks
            or _global_backward_pre_hooks
            or _global_backward_hooks
        ):
            return self.forward(*args, **kwargs)
        called: set[int] = set()
        try:
            return self._call_with_hooks(args, kwargs, called)
        except Exception:
            self._run_always_called(args, kwargs, called)
            raise

    def _call_with_hooks(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], called: set[int]
    ) -> Any:
        args, kwargs = self._run_forward_pre_hooks(args, kwargs)
        boundary = self._backward_boundary()
        if boundary is not None:
            args = boundary.setup_input_hook(args)
        output = self.forward(*args, **kwargs)
        output = self._run_forward_hooks(args, kwargs, output, called)
        if boundary is not None:
            output = boundary.setup_output_hook(output)
        if self._is_full_backward_hook is False:
            self._hook_output_node(args, output)
        return output

    def _run_forward_pre_hooks(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        hooks = (*_global_forward_pre_hooks.items(), *self._forward_pre_hooks.items())
        for number, hook in hooks:
            if number in self._forward_pre_hooks_with_kwargs:
                changed = hook(self, args, kwargs)
                if changed is None:
                    continue
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(
                        "a forward pre-hook with_kwargs must return None or "
                        f"(args, kwargs), not {changed!r:.200}"
                    )
                args, kwargs = changed
            else:
                changed = hook(self, args)
                if changed is not None:
                    args = changed if isinstance(changed, tuple) else (changed,)
        return args, kwargs

    def _run_forward_hooks(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        output: Any,
        called: set[int],
    ) -> Any:
        with_kwargs = (
            *_global_forward_hooks_with_kwargs,
            *self._forward_hooks_with_kwargs,
        )
        hooks = (*_global_forward_hooks.items(), *self._forward_hooks.items())
        for number, hook in hooks:
            called.add(number)
            if number in with_kwargs:
                changed = hook(self, args, kwargs, output)
            else:
                changed = hook(self, args, output)
            if changed is not None:
                output = changed
        return output

    def _run_always_called(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], called: set[int]
    ) -> None:
        """After an exception: runs the hooks with ``always_call`` that have not run."""
        always = {
            *_global_forward_hooks_always_called,
            *self._forward_hooks_always_called,
        }
        hooks = {**_global_forward_hooks, **self._forward_hooks}
        for number, hook in hooks.items():
            if number not in always or number in called:
                continue
            try:
                if number in self._forward_hooks_with_kwargs:
                    hook(self, args, kwargs, None)
                else:
                    hook(self, args, None)
            except Exception as error:
                import warnings

                warnings.warn(
                    f"a forward hook with always_call raised after forward failed, "
                    f"and was ignored: {error}",
                    stacklevel=2,
                )

    def _backward_boundary(self) -> BackwardHook | None:
        pre_hooks = [
            *_global_backward_pre_hooks.values(),
            *self._backward_pre_hooks.values(),
        ]
        hooks = list(_global_backward_hooks.values())
        if self._is_full_backward_hook:
            hooks += self._backward_hooks.values()
        if not hooks and not pre_hooks:
            return None
        return BackwardHook(self, hooks, pre_hooks)

    def _hook_output_node(self, args: tuple[Any, ...], output: Any) -> None:
        while not isinstance(output, Tensor):
            if isinstance(output, dict):
                tensors = [v for v in output.values() if isinstance(v, Tensor)]
                output = tensors[0] if tensors else None
            elif isinstance(output, (list, tuple)) and output:
                output = output[0]
            else:
                return
        node = output.grad_fn
        if node is None:
            return
        for hook in self._backward_hooks.values():

            def on_node(grad_input: Any, grad_output: Any, hook: _Hook = hook) -> Any:
                return hook(self, grad_input, grad_output)

            node.register_hook(on_node)


class LoadHook:
    """A load-state-dict pre-hook, optionally with the module as first argument."""

    def __init__(self, hook: _Hook, module: Any = None) -> None:
        self.hook = hook
        self.module = module

    def __call__(self, *args: Any) -> Any:
        if self.module is None:
            return self.hook(*args)
        return self.hook(self.module, *args)


# Hooks of all modules


def register_module_forward_pre_hook(hook: _Hook) -> RemovableHandle:
    """Runs ``hook(module, args)`` before the forward of every module."""
    return _add_called(_global_forward_pre_hooks, hook)


def register_module_forward_hook(
    hook: _Hook, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Runs ``hook(module, args, output)`` after the forward of every module."""
    flags = [_global_forward_hooks_with_kwargs] if with_kwargs else []
    if always_call:
        flags.append(_global_forward_hooks_always_called)
    return _add_called(_global_forward_hooks, hook, *flags)


def register_module_full_backward_pre_hook(hook: _Hook) -> RemovableHandle:
    """Runs ``hook(module, grad_output)`` in the backward of every module."""
    return _add_called(_global_backward_pre_hooks, hook)


def register_module_full_backward_hook(hook: _Hook) -> RemovableHandle:
    """Runs ``hook(module, grad_input, grad_output)`` after each module's backward."""
    return _add_called(_global_backward_hooks, hook)


def register_module_backward_hook(hook: _Hook) -> RemovableHandle:
    """Refuses: the global form of a deprecated hook with wrong gradients."""
    raise NotImplementedError(
        "global non-full backward hooks are not supported; use "
        "register_module_full_backward_hook"
    )


def register_module_parameter_registration_hook(hook: _Hook) -> RemovableHandle:
    """Runs ``hook(module, name, parameter)``; may return another to register."""
    return _add(_global_parameter_registration_hooks, hook)


def register_module_buffer_registration_hook(hook: _Hook) -> RemovableHandle:
    """Runs ``hook(module, name, buffer)``; may return another to register."""
    return _add(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: _Hook) -> RemovableHandle:
    """Runs ``hook(module, name, submodule)``; may return another to register."""
    return _add(_global_module_registration_hooks, hook)
