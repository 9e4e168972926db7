"""Functions that are compositions of ops, as they are in PyTorch: differences,
quantiles, statistics, distances, combinations.

They have no kernels of their own; gradients follow from what they call. Used by
``pellucid/__init__.py`` through ``__all__``; those in ``_METHODS`` are methods of
Tensor too. Read next: ``shapes.py``, ``products.py``.
"""

from __future__ import annotations

import math

import pellucid
from pellucid._calls.argument_checks import (
    refuse_bool,
    refuse_complex,
    require_tensors,
)
from pellucid._calls.autocast import in_float32
from pellucid._calls.deprecation import advise, deprecated
from pellucid._calls.out_argument import write_out
from pellucid._tensor import Tensor

TYPE_CHECKING = False  # importing typing takes a fifth of all of this
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "bucketize",
    "cdist",
    "corrcoef",
    "cosine_similarity",
    "cov",
    "cross",
    "cumulative_trapezoid",
    "diff",
    "dist",
    "float_power",
    "histc",
    "isin",
    "isneginf",
    "isposinf",
    "isreal",
    "mode",
    "nanmean",
    "nanquantile",
    "pairwise_distance",
    "pdist",
    "positive",
    "quantile",
    "renorm",
    "searchsorted",
    "trapezoid",
    "trapz",
    "unique_consecutive",
    "unravel_index",
    "vander",
    "vdot",
]
_METHODS = (
    *("corrcoef", "cov", "cross", "diff", "dist", "float_power", "histc"),
    *("isneginf", "isposinf", "isreal", "mode", "nanmean", "nanquantile"),
    *("positive", "quantile", "renorm", "unique_consecutive", "vdot"),
)


def _functional() -> Any:
    from pellucid.nn import functional

    return functional


# Elements


def positive(input: Tensor) -> Tensor:
    """``input`` itself; not of bools."""
    if input.dtype == pellucid.bool:
        raise RuntimeError("positive is not defined for bool tensors")
    return input


def isposinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where ``input`` is plus infinity."""
    refuse_complex("isposinf", input)
    found = input == math.inf if input.is_floating_point() else _nowhere(input)
    return write_out(found, out)


def isneginf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where ``input`` is minus infinity."""
    refuse_complex("isneginf", input)
    found = input == -math.inf if input.is_floating_point() else _nowhere(input)
    return write_out(found, out)


def _nowhere(input: Tensor) -> Tensor:
    return pellucid.zeros(input.shape, dtype=pellucid.bool)


def isreal(input: Tensor) -> Tensor:
    """Where the imaginary part is zero: everywhere, for real dtypes."""
    if input.is_complex():
        return input.imag == 0
    return pellucid.ones(input.shape, dtype=pellucid.bool)


def float_power(input: Any, exponent: Any, *, out: Tensor | None = None) -> Tensor:
    """``input ** exponent`` in float64, or complex128 where either is complex."""
    given = (input, exponent)
    is_complex = any(
        v.is_complex() if isinstance(v, Tensor) else isinstance(v, complex)
        for v in given
    )
    dtype = pellucid.complex128 if is_complex else pellucid.float64
    base, power = (v.to(dtype) if isinstance(v, Tensor) else v for v in given)
    if not isinstance(base, Tensor):
        base = pellucid.full((), base, dtype=dtype)
    return write_out(base.pow(power), out)


# Along a dim


def diff(
    input: Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The differences of neighbours along ``dim``, ``n`` times."""
    if input.dim() == 0:
        raise RuntimeError("diff takes tensors of at least one dimension")
    if n < 0:
        raise RuntimeError(f"diff: n is {n}; give a number from 0 on")
    parts = [t for t in (prepend, input, append) if t is not None]
    result = parts[0] if len(parts) == 1 else pellucid.cat(parts, dim)
    for _ in range(min(n, result.shape[dim])):
        size = result.shape[dim]
        after = result.narrow(dim, 1, size - 1)
        before = result.narrow(dim, 0, size - 1)
        is_bool = result.dtype == pellucid.bool
        result = after.logical_xor(before) if is_bool else after - before
    return write_out(result.clone() if result is input else result, out)


def trapezoid(
    y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1
) -> Tensor:
    """The integral by trapezoids along ``dim``, with points ``x`` or steps ``dx``."""
    return _trapezoids(y, x, dx, dim).sum(dim)


def trapz(
    y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1
) -> Tensor:
    """The old name of ``trapezoid``."""
    return trapezoid(y, x, dx=dx, dim=dim)


def cumulative_trapezoid(
    y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1
) -> Tensor:
    """The running integral by trapezoids along ``dim``."""
    return _trapezoids(y, x, dx, dim).cumsum(dim)


def _trapezoids(y: Tensor, x: Tensor | None, dx: Any, dim: int) -> Tensor:
    refuse_bool("trapezoid", y, *([] if x is None else [x]), error=RuntimeError)
    size = y.shape[dim]
    count = max(size - 1, 0)
    heights = (y.narrow(dim, size - count, count) + y.narrow(dim, 0, count)) / 2
    if x is None:
        return heights if dx is None else heights * dx
    if x.dim() == 1:
        if x.shape[0] != size:
            raise RuntimeError(f"trapezoid: {x.shape[0]} points for {size} values")
        shape = [1] * y.dim()
        shape[dim] = count
        return heights * diff(x).view(shape)
    return heights * diff(x, dim=dim)


def nanmean(
    input: Tensor,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """The mean of the elements that are numbers, over ``dim``."""
    if not input.is_floating_point():
        raise RuntimeError(f"nanmean takes a floating-point tensor, not {input.dtype}")
    values = input if dtype is None else input.to(dtype)
    dims = list(range(input.dim())) if dim is None else dim
    numbers = ~values.isnan()
    count = numbers.sum(dims, keepdim=keepdim)
    total = values.where(numbers, 0.0).sum(dims, keepdim=keepdim)
    return write_out(total / count, out)


@in_float32
def quantile(
    input: Tensor,
    q: Any,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
    out: Tensor | None = None,
) -> Tensor:
    """The ``q`` quantiles along ``dim``; a row of NaN has NaN."""
    return write_out(_quantile(input, q, dim, keepdim, interpolation, False), out)


@in_float32
def nanquantile(
    input: Tensor,
    q: Any,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
    out: Tensor | None = None,
) -> Tensor:
    """The ``q`` quantiles of the elements that are numbers."""
    return write_out(_quantile(input, q, dim, keepdim, interpolation, True), out)


_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantile(
    input: Tensor, q: Any, dim: int | None, keepdim: bool, how: str, skip_nan: bool
) -> Tensor:
    if input.dtype not in (pellucid.float32, pellucid.float64):
        raise RuntimeError(f"quantile takes float32 or float64, not {input.dtype}")
    if not input.numel():
        raise RuntimeError("quantile of an empty tensor")
    if how not in _INTERPOLATIONS:
        raise RuntimeError(f"interpolation is one of {_INTERPOLATIONS}, not {how!r}")
    if not isinstance(q, Tensor):
        if not 0 <= q <= 1:
            raise RuntimeError(f"quantile: q lies between 0 and 1, not {q}")
        q = pellucid.tensor(float(q), dtype=input.dtype)
    elif q.dtype != input.dtype:
        raise RuntimeError(f"quantile: q is {q.dtype}, the input {input.dtype}")
    flat, rank = (input.flatten(), input.dim()) if dim is None else (input, 1)
    place = 0 if dim is None else dim
    rows = flat.movedim(place, -1) if flat.dim() else flat.unsqueeze(0)
    ordered = rows.sort(-1)[0]
    size = ordered.shape[-1]
    invalid = ordered.isnan()
    last: Any = float(size - 1)
    if skip_nan:
        last = (~invalid).sum(-1, keepdim=True).to(input.dtype) - 1
    ranks = (q.reshape(-1) * last).clamp(min=0)
    ranks = ranks.expand(*ordered.shape[:-1], q.numel())
    if how == "lower":
        ranks = ranks.floor()
    elif how == "higher":
        ranks = ranks.ceil()
    elif how == "nearest":
        ranks = ranks.round()
    low, high = ranks.floor().long(), ranks.ceil().long()
    part = ranks - low if how == "linear" else pellucid.full_like(ranks, 0.5)
    below, above = ordered.gather(-1, low), ordered.gather(-1, high)
    found = below.lerp(above, part) if how in ("linear", "midpoint") else below
    if not skip_nan:
        found = found.masked_fill(invalid.any(-1, keepdim=True), math.nan)
    found = found.movedim(-1, 0)
    if keepdim:
        shape = [1] * rank if dim is None else list(input.shape)
        if dim is not None and shape:
            shape[dim] = 1
        found = found.reshape(-1, *shape)
    return found[0] if q.dim() == 0 else found


def mode(
    input: Tensor, dim: int = -1, keepdim: bool = False, *, out: Any = None
) -> Any:
    """The most frequent value along ``dim``, the least of equally frequent ones, and
    the last place where it stands: ``(values, indices)``.
    """
    if input.dim() == 0:
        zero = pellucid.zeros((), dtype=pellucid.int64)
        return write_out(pellucid.return_types.mode(input.clone(), zero), out)
    ordered, places = input.movedim(dim, -1).sort(dim=-1, stable=True)
    # Where the longest run of equal elements ends: farthest from its start.
    steps = pellucid.arange(ordered.shape[-1])
    differs = ordered[..., 1:] != ordered[..., :-1]
    starts = pellucid.nn.functional.pad(steps[1:] * differs, (1, 0))
    last = (steps - starts.cummax(-1)[0]).argmax(-1, keepdim=True)
    values, indices = (t.gather(-1, last).movedim(-1, dim) for t in (ordered, places))
    if not keepdim:
        values, indices = values.squeeze(dim), indices.squeeze(dim)
    return write_out(pellucid.return_types.mode(values, indices), out)


def renorm(
    input: Tensor, p: float, dim: int, maxnorm: float, *, out: Tensor | None = None
) -> Tensor:
    """Slices along ``dim`` whose ``p`` norm exceeds ``maxnorm``, scaled down to it."""
    others = [d for d in range(input.dim()) if d != dim % input.dim()]
    norms = pellucid.linalg.vector_norm(input, p, others, keepdim=True)
    scale = pellucid.where(norms > maxnorm, maxnorm / (norms + 1e-7), 1.0)
    return write_out(input * scale, out)


# Sorted sequences and sets


def searchsorted(
    sorted_sequence: Tensor,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Where values would be put into sorted rows, before equal ones, or after with
    ``right``.
    """
    if side not in (None, "left", "right"):
        raise RuntimeError(f"side is 'left' or 'right', not {side!r}")
    if side == "left" and right:
        raise RuntimeError("side='left' and right=True exclude each other")
    if not sorted_sequence.dim():
        raise RuntimeError("searchsorted: a number is no sorted row; give a vector")
    refuse_bool("searchsorted", sorted_sequence)
    right = right or side == "right"
    single = not isinstance(input, Tensor)
    values = pellucid.tensor(input) if single else input
    rows = sorted_sequence
    if sorter is not None:
        rows = rows.gather(-1, sorter)
    if rows.dim() > 1 and rows.shape[:-1] != values.shape[:-1]:
        raise RuntimeError(
            f"searchsorted: rows of shape {tuple(rows.shape)} do not fit values of "
            f"shape {tuple(values.shape)}"
        )
    shape = values.shape
    if rows.dim() == 1:
        values = values.reshape(-1)
    size = rows.shape[-1]
    low = pellucid.zeros(values.shape, dtype=pellucid.int64)
    length = pellucid.full(values.shape, size, dtype=pellucid.int64)
    for _ in range(size.bit_length()):
        half = length // 2
        middle = low + half
        probe = rows.gather(-1, middle.clamp(max=size - 1))
        before = probe <= values if right else ~(probe >= values)
        before = before & (length > 0)
        low = pellucid.where(before, middle + 1, low)
        length = pellucid.where(before, length - half - 1, half)
    found = low.reshape(shape)
    found = found.int() if out_int32 else found
    return write_out(found, out)


def bucketize(
    input: Any,
    boundaries: Tensor,
    *,
    out_int32: bool = False,
    right: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """The number of the bucket between sorted ``boundaries`` that holds each value."""
    if boundaries.dim() != 1:
        raise RuntimeError(f"bucketize: boundaries have {boundaries.dim()} dims")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right, out=out)


def isin(
    elements: Any,
    test_elements: Any,
    *,
    assume_unique: bool = False,
    invert: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Which elements stand among ``test_elements``."""
    values = elements if isinstance(elements, Tensor) else pellucid.tensor(elements)
    among = (
        test_elements
        if isinstance(test_elements, Tensor)
        else pellucid.tensor(test_elements)
    )
    if among.numel():
        found = (values.unsqueeze(-1) == among.reshape(-1)).any(-1)
    else:
        found = _nowhere(values)
    return write_out(~found if invert else found, out)


def unique_consecutive(
    input: Tensor,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """``input`` without elements (slices along ``dim``) that equal the one before."""
    rows = input.reshape(-1) if dim is None else input.movedim(dim, 0)
    if 0 in rows.shape[1:]:
        raise RuntimeError(
            f"unique_consecutive: slices of shape {tuple(rows.shape[1:])} have no "
            "elements to compare"
        )
    size = rows.shape[0]
    starts = pellucid.ones(size, dtype=pellucid.bool)
    if size > 1:
        differs = rows[1:] != rows[:-1]
        starts[1:] = differs.reshape(size - 1, -1).any(1)
    places = starts.nonzero().squeeze(1)
    found = rows[places]
    found = found if dim is None else found.movedim(0, dim)
    results = [found]
    if return_inverse:
        inverse = starts.long().cumsum(0) - 1
        results.append(inverse.view(input.shape) if dim is None else inverse)
    if return_counts:
        ends = pellucid.cat((places[1:], pellucid.tensor([size])))
        results.append(ends - places)
    return results[0] if len(results) == 1 else tuple(results)


def histc(
    input: Tensor,
    bins: int = 100,
    min: float = 0,
    max: float = 0,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """How many elements lie in each of ``bins`` equal parts of ``min`` to ``max``.

    The least and greatest element where both are 0.
    """
    require_tensors("histc", input)
    refuse_bool("histc", input)
    low, high = float(min), float(max)
    if low == high == 0 and input.numel():
        low, high = float(input.min()), float(input.max())
    if low == high:
        low, high = low - 1, high + 1
    if not math.isfinite(low) or not math.isfinite(high) or low > high:
        raise RuntimeError(f"histc: the range from {low} to {high} is no range")
    flat = input.detach().reshape(-1)
    counted = (flat >= low) & (flat <= high)
    flat = pellucid.where(counted, flat, low)
    places = ((flat - low) * (bins / (high - low))).long().clamp(max=bins - 1)
    counts = pellucid.zeros(bins, dtype=input.dtype)
    return write_out(counts.index_add(0, places, counted.to(input.dtype)), out)


# Matrices and statistics


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


def cov(
    input: Tensor,
    *,
    correction: int = 1,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Tensor:
    """The covariances of variables (rows) over observations (columns)."""
    if input.dim() > 2:
        raise RuntimeError(f"cov takes at most 2 dims, not {input.dim()}")
    refuse_bool("cov", input, error=RuntimeError)
    rows = input.reshape(1, -1) if input.dim() < 2 else input
    if not (rows.is_floating_point() or rows.is_complex()):
        rows = rows.to(pellucid.get_default_dtype())
    weights = None
    for given in (fweights, aweights):
        if given is not None:
            weights = given if weights is None else weights * given
    if weights is None:
        total: Any = rows.shape[1]
        centered = rows - rows.mean(1, keepdim=True)
        weighted, norm = centered, total - correction
        if norm <= 0:
            advise(
                f"cov: {total} observations with the correction {correction} have no "
                "degrees of freedom: the result is NaN or infinite"
            )
    else:
        weights = weights.to(rows.dtype)
        total = weights.sum()
        centered = rows - (rows * weights).sum(1, keepdim=True) / total
        weighted = centered * weights
        excess = correction
        if aweights is not None:
            excess = correction * (weights * aweights).sum() / total
        norm = (total - excess).real.clamp(min=0)
    found = weighted @ centered.mH / (norm if weights is not None else max(norm, 0))
    result: Tensor = found.squeeze()
    return result


def corrcoef(input: Tensor) -> Tensor:
    """The correlations of variables (rows) over observations (columns)."""
    found = cov(input)
    if found.dim() == 0:
        return found / found
    deviation = found.diagonal().real.sqrt()
    ratio = found / deviation.unsqueeze(1) / deviation
    if ratio.is_complex():
        return pellucid.complex(ratio.real.clamp(-1, 1), ratio.imag.clamp(-1, 1))
    return ratio.clamp(-1, 1)


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
