"""Submodules that are attributes of their package before they are imported.

PyTorch imports most modules of its packages, so programs read
``torch.utils.data._utils.collate`` without an import. ``submodules`` is a package's
``__getattr__``, which imports them at first use. (Attributes of the modules ``torch``
and ``torch.nn`` are read in every call and must stay fast: see ``_package/lazy.py``.)
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec

TYPE_CHECKING = False  # importing typing takes a fifth of all of this
if TYPE_CHECKING:
    from typing import Any


def submodules(
    package: str, others: Callable[[str], Any] | None = None
) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package: a submodule, or what ``others`` finds, which
    raises AttributeError for other names."""

    def find(name: str) -> Any:
        inner = f"{package}.{name}"
        if not name.startswith("__") and find_spec(inner) is not None:
            try:
                return import_module(inner)
            except ImportError as error:  # something that it needs is not installed
                raise AttributeError(str(error)) from error
        if others is not None:
            return others(name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find
