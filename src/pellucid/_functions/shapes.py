"""Functions of places whose arguments no schema expresses: meshgrid, nonzero.

Thin forms of declared ops, as in PyTorch.
"""

from __future__ import annotations

from pellucid import _C
from pellucid._package.calls import offered
from pellucid._package.calls.argument_checks import require_tensors
from pellucid._package.calls.deprecation import deprecated
from pellucid._tensor import Tensor

TYPE_CHECKING = False  # importing typing takes a fifth of all of this
if TYPE_CHECKING:
    from typing import Any


_meshgrid = _C._op_named("meshgrid.indexing")


@offered.function
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """For each vector a grid of its elements along its own dim, the same for all.

    ``indexing``: "ij", the default, has a dim per vector in their order; "xy" exchanges
    the first two.
    """
    is_list = len(tensors) == 1 and isinstance(tensors[0], list | tuple)
    given = list(tensors[0] if is_list else tensors)
    require_tensors("meshgrid", *given)
    if indexing is None and given:
        deprecated("meshgrid without indexing", "indexing='ij', which it means")
    grids: tuple[Tensor, ...] = _meshgrid(given, indexing=indexing or "ij")
    return grids


_nonzero, _nonzero_out, _nonzero_numpy = map(
    _C._op_named, ("nonzero", "nonzero.out", "nonzero_numpy")
)


@offered.function
@offered.method
def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: bool = False) -> Any:
    """The indices of the elements that are not zero: one row each, or with
    ``as_tuple`` one vector per dim.
    """
    if as_tuple:
        return tuple(_nonzero_numpy(input))
    return _nonzero(input) if out is None else _nonzero_out(input, out=out)


@offered.function
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Flat places in a tensor of ``shape`` as one index tensor per dim."""
    sizes = [shape] if isinstance(shape, int) else [int(n) for n in shape]
    found, indices = [], indices.long()
    for size in reversed(sizes):
        found.append(indices % size)
        indices = indices // size
    return tuple(reversed(found))
