"""``nn.Module.compile``."""

from __future__ import annotations

from typing import Any

from pellucid import _C
from pellucid._dynamo.compile import compile as compile_callable
from pellucid._package.calls import offered
from pellucid.nn import Module


@offered.into("nn.modules.module.Module")
def compile(self: Module, *args: Any, **kwargs: Any) -> None:
    """Compiles calls of the module in place, by ``pellucid.compile``."""
    call = compile_callable(self._call_as_written, *args, **kwargs)
    self.__dict__["_compiled_call_impl"] = call
    _C.enable_module_hooks()
