"""Translates names of classes and functions between PyTorch's files and Pellucid.

Files use PyTorch's names: ``torch.nn.Linear``. ``serialization/__init__.py`` looks up
the names when it writes, and the objects when it reads a trusted file.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

_OWN, _TORCH = "pellucid", "torch"
# The modules of extension functions in PyTorch's files.
_EXTENSION = {
    "torch._C._nn": "torch.nn.functional",
    "torch._C._special": "torch.special",
    "torch._C._VariableFunctions": "torch",
}


def public_name(value: Any) -> tuple[str, str] | None:
    """PyTorch's module and name for a class or function of Pellucid, else None.

    The module is the outermost one that exports it: inner modules are private.
    """
    module, name = getattr(value, "__module__", None), getattr(value, "__name__", None)
    if not isinstance(module, str) or not isinstance(name, str):
        return None
    parts = module.split(".")
    if parts[0] not in (_OWN, _TORCH):
        return None
    for count in range(1, len(parts) + 1):
        home = sys.modules.get(".".join((_OWN, *parts[1:count])))
        if home is not None and vars(home).get(name) is value:
            return ".".join((_TORCH, *parts[1:count])), name
    return None


def find_named(module: str, name: str) -> Any:
    """The object that PyTorch's ``module`` and ``name`` denote, or AttributeError.

    A class may be defined in another file here; enclosing packages export it too.
    """
    path = _EXTENSION.get(module, module).split(".")[1:]
    for count in range(len(path), -1, -1):
        value: Any = _module(".".join((_OWN, *path[:count])))
        if value is None:
            continue
        for part in name.split("."):
            value = getattr(value, part, None)
        if value is not None:
            return value
    raise AttributeError(f"Pellucid has no {module}.{name}")


def _module(path: str) -> ModuleType | None:
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{path}.".startswith(f"{error.name}."):
            raise  # the module exists, but one of its own imports does not
        return None
