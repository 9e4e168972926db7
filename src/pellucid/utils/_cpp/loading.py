"""Loads C++ libraries, and raises errors of their static initializers."""

from __future__ import annotations

import ctypes
import importlib.util
import os
from types import ModuleType

_failures: list[BaseException] = []
_loaded: dict[str, ctypes.CDLL] = {}


def note_failure(error: BaseException) -> None:
    """Called by a library whose registration fails, since it cannot raise."""
    _failures.append(error)


def raise_failure() -> None:
    """Raises the errors recorded since the last call."""
    if _failures:
        error = _failures[0]
        _failures.clear()
        raise error


def load_library(path: str) -> None:
    """Loads a library, whose static initializers register ops; OSError if it does not
    exist."""
    real = os.path.realpath(path)
    if real in _loaded:
        return
    _failures.clear()
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise OSError(f"Could not load this library: {path}\n{error}") from None
    raise_failure()
    _loaded[real] = library


def import_module(name: str, path: str) -> ModuleType:
    """The extension module of a file."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not an extension module")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    raise_failure()
    return module
