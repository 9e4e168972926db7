"""Runs a PyTorch program on Pellucid: ``python -m pellucid.run script.py [arg ...]``.

Under it ``import torch`` and the import of any submodule find the Pellucid module of
the same name: the same module object, not a copy. ``install()`` does that for a session
that is already running, such as a notebook.
"""

from __future__ import annotations

import importlib
import os
import runpy
import sys
from collections.abc import Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import Distribution
from pathlib import Path
from types import ModuleType
from typing import Any

from pellucid.version import __version__

_USAGE = """\
usage: python -m pellucid.run script.py [argument ...]
       python -m pellucid.run -m module [argument ...]
       python -m pellucid.run -c code [argument ...]
Runs a PyTorch program with Pellucid in the place of torch."""

_INSTEAD = {
    "torchvision": (
        "read images with Pillow or scikit-learn, and give the arrays to "
        "torch.from_numpy; torch.utils.data works as usual"
    ),
    "torchaudio": "read sound with soundfile, and give the arrays to torch.from_numpy",
    "torchtext": "use a tokenizer that gives lists, and make tensors of them",
}


class _SameModule(Loader):
    """Gives a module that is already imported, under a second name."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self._spec = module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = (
            self._spec
        )  # the import system has put the second name's there


class _Refused(Loader):
    """Replaces an installed library that cannot be imported, and says why."""

    def create_module(self, spec: ModuleSpec) -> None:
        raise ImportError(
            f"{spec.name} is built against PyTorch's binary and cannot run on "
            f"Pellucid; {_INSTEAD[spec.name]}",
            name=spec.name,
        )

    def exec_module(self, module: ModuleType) -> None:
        raise AssertionError("create_module has raised")


class _TorchDistribution(Distribution):
    """What ``importlib.metadata`` says of torch: the version that Pellucid follows."""

    def read_text(self, filename: str) -> str | None:
        if filename != "METADATA":
            return None
        return f"Metadata-Version: 2.1\nName: torch\nVersion: {__version__}\n"

    def locate_file(self, path: Any) -> Any:
        return Path(__file__).parent / path


class _TorchFinder(MetaPathFinder):
    """Finds ``pellucid.x`` for ``torch.x``; refuses libraries built against PyTorch.

    A refused library that is not installed is missing, as it is for everyone.
    """

    def find_distributions(self, context: Any = None) -> Iterator[Distribution]:
        """Libraries read torch's version before they import it."""
        if context is not None and context.name == "torch":
            yield _TorchDistribution()

    def find_spec(
        self, fullname: str, path: Any = None, target: Any = None
    ) -> ModuleSpec | None:
        top, _, rest = fullname.partition(".")
        if fullname in _INSTEAD:
            installed = PathFinder.find_spec(fullname, path) is not None
            return ModuleSpec(fullname, _Refused()) if installed else None
        if top != "torch":
            return None
        own_name = f"pellucid.{rest}" if rest else "pellucid"
        try:
            module = importlib.import_module(own_name)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{own_name}.".startswith(f"{error.name}."):
                raise  # the module exists, and something that it needs does not
            raise ModuleNotFoundError(
                f"Pellucid has no module {fullname!r}: it is not offered yet, or it "
                "does not exist in PyTorch",
                name=fullname,
            ) from None
        is_package = hasattr(module, "__path__")
        return ModuleSpec(fullname, _SameModule(module), is_package=is_package)


def install() -> None:
    """From now on ``import torch`` finds Pellucid."""
    if any(isinstance(finder, _TorchFinder) for finder in sys.meta_path):
        return
    if "torch" in sys.modules:
        raise RuntimeError(
            "torch is imported already; call pellucid.run.install() before"
        )
    sys.meta_path.insert(0, _TorchFinder())
    _take_name(importlib.import_module("pellucid"))


def _take_name(package: ModuleType) -> None:
    """Libraries that patch functions, or take arrays of any kind, go by these names."""
    package.__name__ = package.Tensor.__module__ = "torch"
    package.torch = package  # type: ignore[attr-defined]


def _run_script(path: str, arguments: Sequence[str]) -> None:
    if not os.path.exists(path):
        sys.exit(f"pellucid.run: there is no file {path!r}")
    sys.argv = [path, *arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(path))
    runpy.run_path(path, run_name="__main__")


def main(arguments: Sequence[str]) -> None:
    """Runs what the command line names."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_USAGE)
        sys.exit(0 if arguments else 2)
    first, *rest = arguments
    if first in ("-m", "-c") and not rest:
        sys.exit(f"pellucid.run: {first} needs an argument")
    install()
    if first == "-m":
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif first == "-c":
        sys.argv = ["-c", *rest[1:]]
        exec(compile(rest[0], "<string>", "exec"), {"__name__": "__main__"})
    else:
        _run_script(first, rest)


if __name__ == "__main__":
    main(sys.argv[1:])
