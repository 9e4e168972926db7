"""``torch.profiler.itt``: annotations for Intel's VTune, whose library is not
linked.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

__all__ = ["is_available", "mark", "range", "range_pop", "range_push"]


def is_available() -> bool:
    """False: the library of VTune is not linked."""
    return False


def _refuse(name: str) -> NoReturn:
    raise RuntimeError(
        f"itt.{name}(): the ITT functions are not installed: marks for VTune need its "
        "library.\nName ranges with torch.profiler.record_function instead"
    )


def range_push(msg: str) -> None:
    """Refused: begins a range in VTune."""
    _refuse("range_push")


def range_pop() -> None:
    """Refused: ends a range in VTune."""
    _refuse("range_pop")


def mark(msg: str) -> None:
    """Refused: marks a moment in VTune."""
    _refuse("mark")


@contextmanager
def range(msg: str, *args: object, **kwargs: object) -> Iterator[None]:
    """Refused: a range in VTune."""
    _refuse("range")
    yield
