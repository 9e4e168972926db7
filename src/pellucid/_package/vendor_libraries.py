"""Where libraries of NVIDIA's are, which are used if they are installed."""

from __future__ import annotations

import ctypes
import os
import site
import sys
from pathlib import Path

_VERSIONS = {"cublasLt": ("13", "12", "11"), "cudnn": ("9", "8")}
"""NVIDIA's libraries that are used where they are installed, and the versions whose
functions are those that the runtime calls."""


def find_library(name: str) -> str:
    """Where a library of NVIDIA's is: in an installed package ("nvidia-cublas",
    "nvidia-cudnn-cu13"), else the name under which the system finds it, or "" where it
    is not installed. ``PELLUCID_CUBLASLT`` and ``PELLUCID_CUDNN`` name another file, 0
    none."""
    given = os.environ.get(f"PELLUCID_{name.upper()}")
    if given is not None:
        return "" if given == "0" else given
    folders = [*site.getsitepackages(), *sys.path]
    inside = (p for f in folders for p in Path(f).glob(f"nvidia/*/lib/lib{name}.so.*"))
    known = (f"lib{name}.so.{version}" for version in _VERSIONS.get(name, ()))
    return max(map(str, inside), default="") or next(filter(_can_load, known), "")


def _can_load(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True
