"""Which library's numerics quantized layers have."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

supported_engines = ["qnnpack", "onednn", "x86", "fbgemm"]
engine: str


class _Module(ModuleType):
    """This module; ``engine`` is checked when it is set.

    Kernels are the same for all. The engine says how a bias is rounded (qnnpack:
    before it is added) and whether dynamic layers leave a bit of their inputs unused.
    """

    _engine = "x86"

    @property
    def engine(self) -> str:
        """The name of the library."""
        return self._engine

    @engine.setter
    def engine(self, name: Any) -> None:
        if name not in supported_engines:
            raise RuntimeError(
                f"quantized engine {name} is not supported; give one of "
                f"{supported_engines}"
            )
        self._engine = name


sys.modules[__name__].__class__ = _Module
