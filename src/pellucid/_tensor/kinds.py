"""A registry of how sparse, nested and quantized tensors print, pickle and batch.

Each kind's package registers itself on import, before its first tensor is made; so this
module imports none of them. Called by ``printing.py``, ``copying.py`` and
``func/_vmap.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pellucid import _C

if TYPE_CHECKING:
    from pellucid._tensor.tensor import Tensor

    # Formats the values of a strided tensor, indented by a number of columns.
    Write = Callable[[Tensor, int], str]


class Kind(NamedTuple):
    """The functions of one kind of tensor."""

    # For ``pickle``: a function and its arguments.
    reduced: Callable[[Tensor], Any]
    # The text of the values, and the fields after them (size, dtype, ...).
    contents: Callable[[Tensor, int, Write], str] | None = None
    suffixes: Callable[[Tensor], list[str]] | None = None
    # Instead of both: the whole repr, with the gradient's fields.
    text: Callable[[Tensor, list[str]], str] | None = None
    # For nested tensors: builds the tensor from examples.
    joined: Callable[[Sequence[Tensor]], Tensor] | None = None


_LOADERS: Final[dict[str, Callable[[], Kind]]] = {}


def register_kind(name: str, load: Callable[[], Kind]) -> None:
    """Registers the kind "sparse", "nested" or "quantized"; ``load`` is called when
    such a tensor is printed or pickled.
    """
    _LOADERS[name] = load


def kind_of(tensor: Tensor) -> Kind | None:
    """The kind of a tensor; None for a strided tensor of numbers."""
    if tensor.is_nested:
        return _LOADERS["nested"]()
    if tensor.is_quantized:
        return _LOADERS["quantized"]()
    return _LOADERS["sparse"]() if _C._sparse_kind(tensor) is not None else None
