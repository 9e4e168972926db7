"""The import hook under which ``torch.x`` is ``pellucid.x``: one module object.

Installed by ``site/torch/__init__.py``. Imports no more than it needs: every program
under the alias imports it.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import CodeType, ModuleType
from typing import Any

_REFUSED = {
    "torchtext": (
        "is built against PyTorch's binary and cannot run on Pellucid; use a tokenizer "
        "that gives lists, and make tensors of them"
    ),
}


class _SameModule:
    """Gives a module that is already imported, under a second name."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self._spec = module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._module

    def get_code(self, name: str) -> CodeType | None:
        """The code that ``python -m`` runs."""
        assert self._spec is not None
        loader: Any = self._spec.loader
        code: CodeType | None = loader.get_code(self._spec.name)
        return code

    def exec_module(self, module: ModuleType) -> None:
        # The import system has put the second name's there.
        module.__spec__ = self._spec


class _Refused:
    """Replaces an installed library that cannot be imported, and says why."""

    def create_module(self, spec: ModuleSpec) -> None:
        raise ImportError(f"{spec.name} {_REFUSED[spec.name]}", name=spec.name)

    def exec_module(self, module: ModuleType) -> None:
        raise AssertionError("create_module has raised")


# PyTorch's distribution has both.
_PACKAGES = {"torch": "pellucid", "functorch": "pellucid._functorch.exports"}


class TorchFinder:
    """Finds ``pellucid.x`` for ``torch.x``; refuses what cannot run.

    A refused library that is not installed is missing, as it is for everyone.
    """

    @staticmethod
    def find_spec(
        fullname: str, path: Sequence[str] | None = None, target: object = None
    ) -> ModuleSpec | None:
        """The spec of a module of torch; None for what others are to find."""
        if fullname in _REFUSED:
            installed = PathFinder.find_spec(fullname, path) is not None
            refused: Any = _Refused()
            return ModuleSpec(fullname, refused) if installed else None
        if fullname == "torch":
            return _spec(fullname, sys.modules["pellucid"])
        package, _, _ = fullname.partition(".")
        if package not in _PACKAGES:
            return None
        own_name = _PACKAGES[package] + fullname.removeprefix(package)
        try:
            return _spec(fullname, importlib.import_module(own_name))
        except ModuleNotFoundError as error:
            if error.name is None or not f"{own_name}.".startswith(f"{error.name}."):
                raise  # the module exists, and something that it needs does not
            raise ModuleNotFoundError(
                f"Pellucid has no module {fullname!r}: it is not offered yet, or it "
                "does not exist in PyTorch",
                name=fullname,
            ) from None


def _spec(name: str, module: ModuleType) -> ModuleSpec:
    loader: Any = _SameModule(module)
    return ModuleSpec(name, loader, is_package=hasattr(module, "__path__"))


def become_torch() -> None:
    """Makes the imported Pellucid the module ``torch`` of this process."""
    package = importlib.import_module("pellucid")
    if TorchFinder not in sys.meta_path:
        sys.meta_path.insert(0, TorchFinder)
    # Libraries that patch functions, or take arrays of any kind, go by these names.
    package.__name__ = package.Tensor.__module__ = "torch"
    package.torch = package  # type: ignore[attr-defined]
    sys.modules["torch"] = package
