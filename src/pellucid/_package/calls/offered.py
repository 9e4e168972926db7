"""Marks of a module's names for lazy export, next to their definitions.

``tools/write_offers.py`` reads these marks in the sources while the package is built
and writes ``_package/offers.py``, from which ``lazy_exports.py`` binds the names; so
the modules are imported when a name is first used. A mark is a decorator, or wraps
what is assigned::

    @offered.function
    def lobpcg(A, k=None): ...

    qscheme = offered.method(_needs("quantized", "qscheme"))

At run time a mark has no effect.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes a fifth of all of this
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")


def function(offer: T) -> T:
    """The function ``torch.NAME``, which ``__torch_function__`` sees."""
    return offer


def value(offer: T) -> T:
    """The function, class or number ``torch.NAME``."""
    return offer


def method(offer: T) -> T:
    """The method ``Tensor.NAME``."""
    return offer


def runtime_value(offer: T) -> T:
    """Exported as ``torch._C.NAME``, for libraries."""
    return offer


def into(place: str) -> Callable[[T], T]:
    """NAME of ``place``, a module, class or dict that this module builds on and that so
    cannot import it, ``@offered.into("storage")``. The place binds what it is offered
    (``lazy_exports.take_offers``).
    """
    return lambda offer: offer


def values(*names: str) -> None:
    """Names of the package that the module makes in its ``__getattr__``."""
