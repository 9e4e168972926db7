"""``ModTracker``: the running modules by name, with hooks around each."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from pellucid._tensor import Tensor
from pellucid.autograd.graph import register_multi_grad_hook
from pellucid.utils._pytree import tree_leaves
from pellucid.utils.module_tracker import ModuleTracker

__all__ = ["ModTracker"]

_Hook = Callable[..., None]


class ModTracker(ModuleTracker):
    """A scope in which ``parents`` are the names of the modules that run, forward or
    backward, and in which hooks run around modules.

    Example::

        with ModTracker() as tracker:
            tracker.register_user_hooks(pre_fw_hook=lambda module, inputs: ...)
            model(x).sum().backward()
    """

    def __init__(self) -> None:
        super().__init__()
        self._user_hooks: dict[str, _Hook] = {}
        self._ending: list[Callable[[], None]] = []  # with the backward pass

    def get_known_fqn(self, mod: Any) -> str | None:
        """The name of a module that has been called or contained in one; else None."""
        return self._names.known_name(mod)

    def register_user_hooks(
        self,
        pre_fw_hook: _Hook | None = None,
        post_fw_hook: _Hook | None = None,
        pre_bw_hook: _Hook | None = None,
        post_bw_hook: _Hook | None = None,
    ) -> None:
        """Calls ``pre_fw_hook(module, inputs)`` and ``post_fw_hook(module, inputs,
        output)`` around forward. ``pre_bw_hook(module, gradients)`` is called at the
        first gradient of a result, ``post_bw_hook(module, gradients)`` when those of
        all arguments are computed, or at the end of the pass if none is. In backward
        the module is None if it has been deleted. ``parents`` contains the module in
        each of them.
        """
        given = {
            "pre_fw_hook": pre_fw_hook,
            "post_fw_hook": post_fw_hook,
            "pre_bw_hook": pre_bw_hook,
            "post_bw_hook": post_bw_hook,
        }
        chosen = {name: hook for name, hook in given.items() if hook is not None}
        if taken := chosen.keys() & self._user_hooks.keys():
            raise AssertionError(
                f"there is a hook as {', '.join(sorted(taken))}: call clear_user_hooks"
            )
        self._user_hooks |= chosen

    def clear_user_hooks(self) -> None:
        """Removes the hooks."""
        self._user_hooks.clear()

    def _call(self, which: str, *arguments: Any) -> None:
        if which in self._user_hooks:
            self._user_hooks[which](*arguments)

    def _enter_module(self, module: Any, inputs: Any) -> None:
        name = self._names.name_of(module)
        self._enter(name)
        self._call("pre_fw_hook", module, inputs)
        if not self.is_bw:
            own = weakref.ref(module)
            self._at_gradients(inputs, lambda found: self._end(own, name, found))

    def _leave_module(self, module: Any, inputs: Any, output: Any) -> None:
        name, own = self._names.name_of(module), weakref.ref(module)
        self._call("post_fw_hook", module, inputs, output)
        self._leave(name)
        if self.is_bw:
            return
        ends_with_pass = not _wanted(inputs)

        def begin(gradient: Any) -> None:
            self._enter_backward(name)
            self._call("pre_bw_hook", own(), (gradient,))
            if ends_with_pass:
                self._ending.append(lambda: self._end(own, name, ()))

        if wanted := _wanted(output):
            self._hooks.append(register_multi_grad_hook(wanted, begin, mode="any"))

    def _forget(self) -> None:
        while self._ending:
            self._ending.pop()()
        super()._forget()

    def _drop_pass(self) -> None:
        self._ending.clear()
        super()._drop_pass()

    def _end(self, own: Any, name: str, gradients: Sequence[Any]) -> None:
        self._call("post_bw_hook", own(), tuple(gradients))
        self._leave(name)


def _wanted(values: Any) -> list[Tensor]:
    tensors = (x for x in tree_leaves(values) if isinstance(x, Tensor))
    return [x for x in tensors if x.requires_grad]
