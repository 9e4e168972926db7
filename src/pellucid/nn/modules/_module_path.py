"""Which module runs: the names of the modules whose ``forward`` is being called.

Used by what reports by module: `utils.flop_counter`, `viz.record`.
"""

from __future__ import annotations

from typing import Any

from pellucid.nn.modules import module as modules


class ModulePath:
    """A scope that follows the calls of modules.

    ``names`` holds the modules that run, the outermost first. They are called after
    the outermost one's class and their place in it: ``Net.layers.0``.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self._known: dict[int, str] = {}
        self._hooks: list[Any] = []

    def __enter__(self) -> ModulePath:
        self._hooks = [
            modules.register_module_forward_pre_hook(self._enter_module),
            modules.register_module_forward_hook(self._leave_module, always_call=True),
        ]
        return self

    def __exit__(self, *_: object) -> None:
        for hook in self._hooks:
            hook.remove()

    def _enter_module(self, module: Any, inputs: Any) -> None:
        if not self.names or id(module) not in self._known:
            root = type(module).__name__
            for path, child in module.named_modules():
                self._known[id(child)] = f"{root}.{path}" if path else root
        self.names.append(self._known[id(module)])

    def _leave_module(self, module: Any, inputs: Any, output: Any) -> None:
        self.names.pop()
