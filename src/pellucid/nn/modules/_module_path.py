"""Names of modules by their path, and scopes that see every call of a module.

Used by reports per module: `viz.record` and `utils.module_tracker`, which uses the same
names.
"""

from __future__ import annotations

import weakref
from typing import Any, Self

from pellucid.nn.modules import module as modules


class ModuleNames:
    """Names modules by the class of the outermost called module and their path
    in it: ``Net.layers.0``.
    """

    def __init__(self) -> None:
        self._known: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()

    def name_of(self, module: Any) -> str:
        """The name of a module that is being called."""
        if module not in self._known:
            root = type(module).__name__
            for path, child in module.named_modules():
                self._known[child] = f"{root}.{path}" if path else root
        return self._known[module]

    def known_name(self, module: Any) -> str | None:
        """The same, or None if neither it nor one that contains it was called."""
        return self._known.get(module)


class ModuleScope:
    """A scope in which every module call runs the two methods below."""

    def __init__(self) -> None:
        self._names = ModuleNames()
        self._hooks: list[Any] = []

    def __enter__(self) -> Self:
        self._hooks = [
            modules.register_module_forward_pre_hook(self._enter_module),
            modules.register_module_forward_hook(self._leave_module, always_call=True),
        ]
        return self

    def __exit__(self, *_: object) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()

    def _enter_module(self, module: Any, inputs: Any) -> None:
        raise NotImplementedError

    def _leave_module(self, module: Any, inputs: Any, output: Any) -> None:
        raise NotImplementedError
