"""Puts the op callables where Python looks for them.

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

# Namespaces on whose ops a module of the package is built.
_MODULES = {
    "nn.functional": "_C._nn",
    "fft": "_C._fft",
    "linalg": "_C._linalg",
    "special": "_C._special",
}


def _module(python_module: str) -> ModuleType:
    name = "pellucid." + _MODULES.get(python_module, python_module)
    if name not in sys.modules:
        sys.modules[name] = ModuleType(name, f"The ops of torch.{python_module}.")
    parent, _, child = name.rpartition(".")
    setattr(sys.modules[parent], child, sys.modules[name])
    return sys.modules[name]


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
    for python_module in ("nn.functional", "special", "linalg"):
        _module(python_module)
