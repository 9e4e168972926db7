"""How tensors of parts (sparse, nested, quantized) print, pickle and are batched.

Their rooms register it when they are imported, which is before the first of their
tensors is made: so nothing here imports them. Called by ``printing.py``,
``copying.py`` and ``func/_vmap.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pellucid import _C

if TYPE_CHECKING:
    from pellucid._tensor.tensor import Tensor

    # Writes the values of a strided tensor, so many columns from the left.
    Write = Callable[[Tensor, int], str]


class Kind(NamedTuple):
    """What is special about one kind of tensor."""

    # For ``pickle``: a function and its arguments.
    reduced: Callable[[Tensor], Any]
    # The values, and what is said after them (size, dtype and the like).
    contents: Callable[[Tensor, int, Write], str] | None = None
    suffixes: Callable[[Tensor], list[str]] | None = None
    # In place of both: all of the repr, with what is said of the gradient.
    text: Callable[[Tensor, list[str]], str] | None = None
    # Of nested tensors: the tensor of examples.
    joined: Callable[[Sequence[Tensor]], Tensor] | None = None


_LOADERS: Final[dict[str, Callable[[], Kind]]] = {}


def register_kind(name: str, load: Callable[[], Kind]) -> None:
    """For the rooms of "sparse", "nested" and "quantized" tensors; ``load`` is called
    when one is printed or pickled.
    """
    _LOADERS[name] = load


def kind_of(tensor: Tensor) -> Kind | None:
    """None for a strided tensor of numbers."""
    if tensor.is_nested:
        return _LOADERS["nested"]()
    if tensor.is_quantized:
        return _LOADERS["quantized"]()
    return _LOADERS["sparse"]() if _C._sparse_kind(tensor) is not None else None
