"""One rule a file: ``find(facts)`` gives the faults of one cause, with a patch where
the source shows what to change. A rule's finding is a hypothesis: what is claimed of
its gain is measured (``experiments.py``), and dropped if it measures nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Any


def all_rules() -> Iterator[Callable[[Any], list[Any]]]:
    """The rules of this folder."""
    for module in sorted(iter_modules(__path__), key=lambda found: found.name):
        yield import_module(f"{__name__}.{module.name}").find
