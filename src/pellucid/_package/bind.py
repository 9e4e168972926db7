"""Binds the op callables to modules and the Tensor class.

The runtime makes one callable per public name from the op table; the table says which
module each belongs to. Called once by ``pellucid/__init__.py``.
"""

from __future__ import annotations

import sys
from types import ModuleType

from pellucid import _C

TYPE_CHECKING = False  # importing typing takes a fifth of all of this
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _module(python_module: str) -> ModuleType:
    """The module of these ops alone, on which the public one is built."""
    child = f"_{python_module.replace('.', '_')}"
    module = ModuleType(f"pellucid._C.{child}", f"The ops of torch.{python_module}.")
    sys.modules[module.__name__] = module
    setattr(_C, child, module)
    return module


def _finder(module: ModuleType, functions: dict[str, Any]) -> Callable[[str], Any]:
    def find(name: str) -> Any:
        if name in functions:
            return functions[name]
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

    return find


def bind_ops(namespace: dict[str, Any]) -> None:
    """Makes all callables; those without a module of their own go to `namespace`."""
    for python_module, functions in _C._bind_ops().items():
        if python_module == "":
            for name, function in functions.items():
                namespace.setdefault(name, function)
        else:
            prefix = f"{python_module}_"
            named = {n.removeprefix(prefix): f for n, f in functions.items()}
            module = _module(python_module)
            vars(module).update(named)
            # Pickle looks a function up by the name of its op: linalg_norm.
            vars(module)["__getattr__"] = _finder(module, functions)
