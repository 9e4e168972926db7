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
    from typing import Any

# Namespaces on whose ops a module of the package is built.
_MODULES = {
    "": "_C._VariableFunctions",
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


def bind_ops(namespace: dict[str, Any]) -> None:
    """Makes all callables; those without a module of their own go to `namespace`."""
    for python_module, functions in _C._bind_ops().items():
        prefix = f"{python_module}_" if python_module else ""
        named = {n.removeprefix(prefix): f for n, f in functions.items()}
        vars(_module(python_module)).update(named)
        if python_module == "":
            for name, function in functions.items():
                namespace.setdefault(name, function)
    for python_module in ("nn.functional", "special", "linalg"):
        _module(python_module)
