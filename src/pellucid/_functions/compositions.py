"""Functions that are compositions of ops, as they are in PyTorch: distances,
combinations.

They have no kernels of their own; gradients follow from what they call. Used by
``pellucid/__init__.py`` through ``__all__``; those in ``_METHODS`` are methods of
Tensor too. Read next: ``shapes.py``, ``products.py``.
"""

from __future__ import annotations

import itertools

import pellucid
from pellucid import _C
from pellucid._calls.argument_checks import (
    refuse_bool,
    refuse_complex,
    require_tensors,
)
from pellucid._calls.autocast import in_float32
from pellucid._calls.deprecation import deprecated
from pellucid._calls.out_argument import write_out
from pellucid._tensor import Tensor

TYPE_CHECKING = False  # importing typing takes a fifth of all of this
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "cartesian_prod",
    "cdist",
    "combinations",
    "cosine_similarity",
    "cross",
    "diagflat",
    "dist",
    "pairwise_distance",
    "pdist",
    "renorm",
    "unique_consecutive",
    "unravel_index",
    "vander",
    "vdot",
]
_METHODS = (*("cross", "diagflat", "dist", "renorm", "unique_consecutive", "vdot"),)


def _functional() -> Any:
    from pellucid.nn import functional

    return functional


def renorm(
    input: Tensor, p: float, dim: int, maxnorm: float, *, out: Tensor | None = None
) -> Tensor:
    """Slices along ``dim`` whose ``p`` norm exceeds ``maxnorm``, scaled down to it."""
    others = [d for d in range(input.dim()) if d != dim % input.dim()]
    norms = pellucid.linalg.vector_norm(input, p, others, keepdim=True)
    scale = pellucid.where(norms > maxnorm, maxnorm / (norms + 1e-7), 1.0)
    return write_out(input * scale, out)


def unique_consecutive(
    input: Tensor,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """``input`` without elements (slices along ``dim``) that equal the one before."""
    op = _C._op_named("unique_consecutive")
    found = op(input, return_inverse, return_counts, dim)
    parts = found[: 1 + return_inverse]
    parts += found[2:] if return_counts else ()
    return parts[0] if len(parts) == 1 else parts


# Matrices


@in_float32
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A matrix with the elements of ``input`` on its diagonal."""
    return input.reshape(-1).diag(offset)


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers of each element of a vector, highest first unless ``increasing``."""
    if x.dim() != 1:
        raise RuntimeError(f"vander takes a vector, not {x.dim()} dims")
    count = x.shape[0] if N is None else N
    powers = pellucid.arange(count)
    return x.unsqueeze(1) ** (powers if increasing else powers.flip(0))


def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of vectors, the first conjugated."""
    return write_out(input.conj().dot(other), out)


def cross(
    input: Tensor, other: Tensor, dim: int | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The cross product of vectors of 3 elements along ``dim`` (the first such)."""
    refuse_bool("cross", input, other)
    a, b = pellucid.broadcast_tensors(input, other)
    if dim is None:
        deprecated("cross without dim", "dim, or linalg.cross, where it is -1")
        threes = [d for d, n in enumerate(a.shape) if n == 3]
        if not threes:
            raise RuntimeError(f"cross: no dim of size 3 in {tuple(a.shape)}")
        dim = threes[0]
    if a.shape[dim] != 3:
        raise RuntimeError(f"cross: dim {dim} has size {a.shape[dim]}, not 3")

    def turned(t: Tensor, by: int) -> Tensor:
        return t.roll(by, dim)

    result = turned(a, -1) * turned(b, -2) - turned(a, -2) * turned(b, -1)
    return write_out(result, out)


# Distances


def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The ``p`` norm of all elements of ``input - other``."""
    require_tensors("dist", input, other)
    return pellucid.linalg.vector_norm(input - other, p)


_CDIST_MODES = (
    "use_mm_for_euclid_dist_if_necessary",
    "use_mm_for_euclid_dist",
    "donot_use_mm_for_euclid_dist",
)


def cdist(
    x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str | None = None
) -> Tensor:
    """The ``p`` distances of all rows of ``x1`` (..., P, M) and all rows of ``x2``
    (..., R, M): (..., P, R).

    ``compute_mode`` is one of PyTorch's names for how; the differences are always
    summed where they are made, without a product that would round close rows to one.
    """
    refuse_complex("cdist", x1, x2)
    if compute_mode is not None and compute_mode not in _CDIST_MODES:
        raise ValueError(
            f"cdist: there is no compute_mode {compute_mode!r}; give one of "
            f"{', '.join(_CDIST_MODES)}"
        )
    if x1.dim() < 2 or x2.dim() < 2:
        raise RuntimeError(
            f"cdist compares rows of matrices, and the tensors have {x1.dim()} and "
            f"{x2.dim()} dims; unsqueeze(0) makes one row of a vector"
        )
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"cdist: rows of {x1.shape[-1]} and {x2.shape[-1]} elements")
    return pellucid._cdist_forward(x1, x2, p, None)


def cosine_similarity(
    x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8
) -> Tensor:
    """The cosine of the angle between vectors along ``dim``."""
    result: Tensor = _functional().cosine_similarity(x1, x2, dim, eps)
    return result


def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The ``p`` norm over the last dim of ``x1 - x2 + eps``."""
    result: Tensor = _functional().pairwise_distance(x1, x2, p, eps, keepdim)
    return result


def pdist(input: Tensor, p: float = 2) -> Tensor:
    """The ``p`` distances of all pairs of rows."""
    result: Tensor = _functional().pdist(input, p)
    return result


# Combinations of elements


def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All rows with one element of each vector."""
    if len(tensors) == 1:
        return tensors[0]
    grids = pellucid.meshgrid(*tensors, indexing="ij")
    return pellucid.stack([grid.reshape(-1) for grid in grids], 1)


def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All choices of ``r`` elements of a vector, as rows."""
    if input.dim() != 1:
        raise RuntimeError(f"combinations takes a vector, not {input.dim()} dims")
    if r < 0:
        raise RuntimeError(f"combinations: r is {r}; give a number from 0 on")
    choose = (
        itertools.combinations_with_replacement
        if with_replacement
        else itertools.combinations
    )
    chosen = list(choose(range(input.shape[0]), r))
    shape = (len(chosen), r) if r else (0,)
    return input[pellucid.tensor(chosen, dtype=pellucid.int64).reshape(shape)]


def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Flat places in a tensor of ``shape`` as one index tensor per dim."""
    sizes = [shape] if isinstance(shape, int) else [int(n) for n in shape]
    found = []
    for size in reversed(sizes):
        found.append(indices % size)
        indices = indices // size
    return tuple(reversed(found))


def _where(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """``self`` where ``condition``, else ``other``: the function puts it second."""
    return pellucid.where(condition, self, other)


Tensor.where = _where  # type: ignore[assignment, method-assign]
for _name in _METHODS:
    setattr(Tensor, _name, globals()[_name])
