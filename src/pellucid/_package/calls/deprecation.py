"""Warnings at the line of the program that called.

Called by functions that exist only for older programs, and by those whose result is
rarely the one that was meant. Lines of modules that wrap functions are not named.
"""

from __future__ import annotations

import sys

_WRAPPERS = ("pellucid._package.lazy",)


def deprecated(
    name: str, instead: str, category: type[Warning] = UserWarning, stacklevel: int = 2
) -> None:
    """``name`` is deprecated, ``instead`` says what to use; else as ``advise``."""
    advise(f"{name} is deprecated: use {instead}", category, stacklevel + 1)


def advise(
    text: str, category: type[Warning] = UserWarning, stacklevel: int = 2
) -> None:
    """Warn at the line that called the caller; with a greater ``stacklevel``, that
    called one of its callers.
    """
    import warnings  # imported late: few programs get here

    frame, level = sys._getframe(stacklevel), stacklevel + 1
    while frame.f_globals.get("__name__") in _WRAPPERS and frame.f_back:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)
