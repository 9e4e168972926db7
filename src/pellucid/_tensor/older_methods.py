"""Methods of Tensor that only older programs call: Python 2's names, other devices.

Imported lazily (``_package/calls/offered.py``).
"""

from __future__ import annotations

from typing import Any

from pellucid._package.calls import offered
from pellucid._tensor import Tensor


@offered.method
def __div__(self: Tensor, other: Any) -> Tensor:
    """``self / other``."""
    quotient: Tensor = self / other
    return quotient


@offered.method
def __rdiv__(self: Tensor, other: Any) -> Tensor:
    """``other / self``."""
    quotient: Tensor = other / self
    return quotient


@offered.method
def __idiv__(self: Tensor, other: Any) -> Tensor:
    """``self /= other``."""
    return self.div_(other)


@offered.method
def __long__(self: Tensor) -> int:
    """``int(self)``."""
    return int(self)


@offered.method
def __nonzero__(self: Tensor) -> bool:
    """``bool(self)``."""
    return bool(self)


@offered.method
def ipu(self: Tensor, device: Any = None, *_: Any, **__: Any) -> Tensor:
    """Raises: there is no IPU."""
    return self.to("ipu")


@offered.method
def mtia(self: Tensor, device: Any = None, *_: Any, **__: Any) -> Tensor:
    """Raises: there is no MTIA device."""
    return self.to("mtia")


@offered.method
def xpu(self: Tensor, device: Any = None, *_: Any, **__: Any) -> Tensor:
    """Raises: there is no XPU."""
    return self.to("xpu")
