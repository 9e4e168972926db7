"""Numerical functions that combine ops: gradients on grids, histograms, powers of two.

Functions of the package, imported when first asked for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import pellucid
from pellucid import Tensor
from pellucid._calls.argument_checks import refuse_bool
from pellucid._calls.out_argument import write_out
from pellucid.return_types import printed_as


def ldexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``input`` times 2 to the power ``other``."""
    power = pellucid.pow(pellucid.tensor(2.0), other)
    return pellucid.mul(input, power, out=out) if out is not None else input * power


def ldexp_(input: Tensor, other: Tensor) -> Tensor:
    """``ldexp`` in place."""
    return input.mul_(pellucid.pow(pellucid.tensor(2.0), other))


# Gradients on a grid


def gradient(
    input: Tensor,
    *,
    spacing: Any = None,
    dim: Any = None,
    edge_order: int = 1,
) -> tuple[Tensor, ...]:
    """Central differences along each of ``dim``; at the ends one-sided ones.

    ``spacing`` is a distance, one for each dim, or one vector of coordinates for each.
    """
    refuse_bool("gradient", input, error=RuntimeError)
    dims = _gradient_dims(input, dim)
    steps = _gradient_steps(spacing, len(dims))
    if edge_order not in (1, 2):
        raise RuntimeError(f"gradient: edge_order is 1 or 2, not {edge_order}")
    for d in dims:
        if input.shape[d] <= edge_order:
            raise RuntimeError(
                f"gradient: dim {d} has {input.shape[d]} elements, and differences of "
                f"order {edge_order} at the ends need more than {edge_order}"
            )
    return tuple(
        _differences(input, step, d, edge_order)
        for d, step in zip(dims, steps, strict=True)
    )


def _gradient_dims(input: Tensor, dim: Any) -> list[int]:
    if dim is None:
        return list(range(input.dim()))
    dims = [dim] if isinstance(dim, int) else list(dim)
    found = [d % input.dim() for d in dims]
    if len(set(found)) != len(found):
        raise RuntimeError(f"gradient: dim {dims} names a dimension twice")
    return found


def _gradient_steps(spacing: Any, count: int) -> list[Any]:
    if spacing is None:
        return [1] * count
    if isinstance(spacing, Tensor) or not isinstance(spacing, (list, tuple)):
        if isinstance(spacing, Tensor) and count != 1:
            raise RuntimeError("gradient: give one vector of coordinates for each dim")
        return [spacing] * count
    if len(spacing) != count:
        raise RuntimeError(f"gradient: {len(spacing)} spacings for {count} dims")
    return list(spacing)


def _differences(x: Tensor, step: Any, dim: int, edge_order: int) -> Tensor:
    """Differences of second order inside (Fornberg 1988, uneven steps)."""
    x = x.movedim(dim, -1)
    x = x if x.is_floating_point() or x.is_complex() else x.to(pellucid.float32)
    if isinstance(step, Tensor):
        if step.dim() != 1 or step.shape[0] != x.shape[-1]:
            raise RuntimeError(
                f"gradient: coordinates of shape {tuple(step.shape)} for a dim of size "
                f"{x.shape[-1]}"
            )
        gaps: Any = step[1:] - step[:-1]
    else:
        gaps = pellucid.full((x.shape[-1] - 1,), float(step), dtype=x.dtype)
    slopes = (x[..., 1:] - x[..., :-1]) / gaps
    left, right = gaps[:-1], gaps[1:]
    inside = (slopes[..., :-1] * right + slopes[..., 1:] * left) / (left + right)
    first, last = slopes[..., :1], slopes[..., -1:]
    if edge_order == 2:
        first = _end(slopes, gaps, 0, 1)
        last = _end(slopes, gaps, -1, -2)
    return pellucid.cat((first, inside, last), -1).movedim(-1, dim)


def _end(slopes: Tensor, gaps: Tensor, edge: int, inner: int) -> Tensor:
    """The slope at an end of the parabola through the three points there."""
    near, far = slopes[..., edge], slopes[..., inner]
    bend = (near - far) / (gaps[edge] + gaps[inner])
    return (near + bend * gaps[edge]).unsqueeze(-1)


# Histograms


def histogram(
    input: Tensor,
    bins: Any,
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
    out: Any = None,
) -> Any:
    """How many elements lie in each bin, and the bins' edges.

    ``bins`` is a number of equal bins over ``range``, or their edges; ``density``
    divides by the total and the bins' widths.
    """
    points = input.reshape(-1, 1)
    weights = None if weight is None else weight.reshape(-1)
    hist, edges = _histogram(points, [bins], range, weights, density)
    return write_out(_Histogram(hist, edges[0]), out)


def histogramdd(
    input: Tensor,
    bins: Any,
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Any:
    """``histogram`` of points (..., N) in N dims; the edges are a tuple."""
    dims = input.shape[-1]
    given = [bins] * dims if isinstance(bins, int) else list(bins)
    if len(given) != dims:
        raise RuntimeError(f"histogramdd: {len(given)} bins for points of {dims} dims")
    weights = None if weight is None else weight.reshape(-1)
    points = input.reshape(-1, dims)
    hist, edges = _histogram(points, given, range, weights, density)
    return _HistogramDD(hist, tuple(edges))


@printed_as("histogramdd")
class _HistogramDD(NamedTuple):
    hist: Tensor
    bin_edges: tuple[Tensor, ...]


@printed_as("histogram")
class _Histogram(NamedTuple):
    hist: Tensor
    bin_edges: Any


def _histogram(
    points: Tensor, bins: list[Any], limits: Any, weight: Any, density: bool
) -> tuple[Tensor, list[Tensor]]:
    edges = [
        b if isinstance(b, Tensor) else _equal_bins(points[:, d], b, limits, d)
        for d, b in enumerate(bins)
    ]
    shape = [edge.shape[0] - 1 for edge in edges]
    place = pellucid.zeros(points.shape[0], dtype=pellucid.int64)
    inside = pellucid.ones(points.shape[0], dtype=pellucid.bool)
    for d, edge in enumerate(edges):
        column = points[:, d].contiguous()
        found = pellucid.searchsorted(edge, column, right=True) - 1
        found = pellucid.where(column == edge[-1], shape[d] - 1, found)
        inside = inside & (column >= edge[0]) & (column <= edge[-1])
        place = place * shape[d] + found
    counted = pellucid.ones_like(points[:, 0]) if weight is None else weight
    hist = points.new_zeros(math.prod(shape))
    hist = hist.index_add(0, place[inside], counted[inside]).reshape(shape)
    if density:
        hist = hist / hist.sum()
        for d, edge in enumerate(edges):
            wide = [-1 if k == d else 1 for k, _ in enumerate(edges)]
            hist = hist / (edge[1:] - edge[:-1]).reshape(wide)
    return hist, edges


def _equal_bins(column: Tensor, count: int, limits: Any, d: int) -> Tensor:
    if count <= 0:
        raise RuntimeError(f"histogram: {count} bins; give a positive number")
    if limits is not None:
        low, high = float(limits[2 * d]), float(limits[2 * d + 1])
    elif column.numel():
        low, high = float(column.min()), float(column.max())
    else:
        low, high = 0.0, 1.0
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise RuntimeError(f"histogram: the range from {low} to {high} is no range")
    if low == high:
        low, high = low - 0.5, high + 0.5
    return pellucid.linspace(low, high, count + 1, dtype=column.dtype)


# Functions of several orders


def mvlgamma(input: Tensor, p: int, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension ``p``."""
    if p < 1:
        raise RuntimeError(f"mvlgamma: p is {p}; give 1 or more")
    x = input if input.is_floating_point() else input.to(pellucid.get_default_dtype())
    halves = pellucid.arange(0, -p, -1, dtype=x.dtype) / 2
    constant = p * (p - 1) / 4 * math.log(math.pi)
    result = (x.unsqueeze(-1) + halves).lgamma().sum(-1) + constant
    return result if out is None else out.copy_(result)


def mvlgamma_(input: Tensor, p: int) -> Tensor:
    """``mvlgamma`` in place."""
    return input.copy_(mvlgamma(input, p))


def polygamma(self: Tensor, n: int) -> Tensor:
    """The derivative of order ``n`` of digamma."""
    return pellucid.polygamma(n, self)


def polygamma_(self: Tensor, n: int) -> Tensor:
    """``polygamma`` in place."""
    return self.copy_(pellucid.polygamma(n, self))
