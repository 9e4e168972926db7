"""One rule per file: ``find(facts)`` returns the findings of one cause, with a patch if
the source shows what to change. A finding is a hypothesis: its gain is measured
(``experiments.py``), and it is dropped if there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Any


def all_rules() -> Iterator[Callable[[Any], list[Any]]]:
    """The rules of this folder."""
    for module in sorted(iter_modules(__path__), key=lambda info: info.name):
        yield import_module(f"{__name__}.{module.name}").find
