"""Counts of numbers: bincount and histograms. All of them read values."""

import math

from pellucid_compiler.composites import api, composite, require


def _refuse_bool(name, x):
    require(
        x.dtype != api.bool,
        "{} does not take bools: convert with .to(torch.int64) or .float()",
        name,
        error=NotImplementedError,
    )


@composite(
    "bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor",
    forms=(
        "bincount.out(Tensor self, Tensor? weights=None, SymInt minlength=0, *, "
        "Tensor(a!) out) -> Tensor(a!)",
    ),
    tags="dynamic_output_shape",
)
def bincount(x, weights, minlength):
    """How often each number from 0 on occurs, or the sum of its weights."""
    _refuse_bool("bincount", x)
    require(x.dim() == 1, "bincount takes a vector, not {} dimensions", x.dim())
    require(
        not (x.is_floating_point() or x.is_complex()),
        "bincount takes integers, not {}: convert with .to(torch.int64)",
        x.dtype,
        error=NotImplementedError,
    )
    require(minlength >= 0, "bincount: minlength {} is negative", minlength)
    require(
        not x.numel() or int(x.min()) >= 0,
        "bincount: the numbers to count must not be negative",
    )
    length = max(minlength, int(x.max()) + 1 if x.numel() else 0)
    if weights is None or not x.numel():
        weights = api.ones((), dtype=api.int64, device=x.device).expand(x.shape)
    elif weights.dtype is not api.float32:
        weights = weights.double()
    require(weights.shape == x.shape, "bincount: give one weight for each number")
    return weights.new_zeros(length).index_add_(0, x.long(), weights)


@composite(
    "histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor",
    out=True,
    casts_out=False,
)
def histc(x, bins, min, max):
    """How many elements are in each of ``bins`` equal parts of ``min`` to ``max``; if
    both are 0, of the least to the greatest element.
    """
    _refuse_bool("histc", x)
    low, high = float(min), float(max)
    if low == high == 0 and x.numel() and not x.is_meta:
        low, high = float(x.min()), float(x.max())
    if low == high:
        low, high = low - 1, high + 1
    require(
        math.isfinite(low) and math.isfinite(high) and low <= high,
        "histc: the range from {} to {} is empty",
        low,
        high,
    )
    flat = x.detach().reshape(-1)
    counted = (flat >= low) & (flat <= high)
    flat = api.where(counted, flat, low)
    places = ((flat - low) * (bins / (high - low))).long().clamp(max=bins - 1)
    counts = api.zeros(bins, dtype=x.dtype, device=x.device)
    return counts.index_add(0, places, counted.to(x.dtype))


@composite(
    "histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, "
    "bool density=False) -> (Tensor hist, Tensor bin_edges)",
    out=True,
)
def histogram_of_edges(x, bins, *, weight, density):
    """How many elements are between each pair of ``bins``, and these."""
    hist, edges = _histogram(x.reshape(-1, 1), [bins.clone()], weight, density)
    return hist, edges[0]


@composite(
    "histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, "
    "Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)",
    out=True,
)
def histogram(x, bins, *, range, weight, density):
    """How many elements are in each of ``bins`` equal parts of ``range``, and their
    edges.
    """
    points = x.reshape(-1, 1)
    hist, edges = _histogram(
        points, _equal_bins(points, [bins], range), weight, density
    )
    return hist, edges[0]


_POINTS = (
    "float[]? range=None, Tensor? weight=None, bool density=False) "
    "-> (Tensor hist, Tensor[] bin_edges)"
)


@composite(f"histogramdd(Tensor self, int[] bins, {_POINTS}", method=False)
@composite(f"histogramdd.int_bins(Tensor self, int bins, {_POINTS}", method=False)
def histogramdd(x, bins, range, weight, density):
    """``histogram`` of points (..., N) in N dims."""
    points = _points(x)
    counts = [bins] * points.shape[1] if isinstance(bins, int) else bins
    _require_dims(points, counts)
    return _histogram(points, _equal_bins(points, counts, range), weight, density)


@composite(
    f"histogramdd.TensorList_bins(Tensor self, Tensor[] bins, {_POINTS}", method=False
)
def histogramdd_of_edges(x, bins, range, weight, density):
    """``histogram`` of points (..., N) between edges of each of N dims."""
    points = _points(x)
    _require_dims(points, bins)
    return _histogram(points, bins, weight, density)


def _points(x):
    require(
        x.dim() >= 2, "histogramdd takes points (..., N), not {} dimensions", x.dim()
    )
    return x.reshape(-1, x.shape[-1])


def _require_dims(points, bins):
    dims = points.shape[1]
    require(
        len(bins) == dims, "histogramdd: {} bins for points of {} dims", len(bins), dims
    )


def _histogram(points, edges, weight, density):
    require(
        points.dtype.is_floating_point,
        "histograms take floats, not {}: convert with .float()",
        points.dtype,
        error=NotImplementedError,
    )
    for edge in edges:
        require(
            edge.shape[0] > 1,
            "histograms: {} edges have no bin between them; give two or more",
            edge.shape[0],
        )
        require(
            edge.dtype == points.dtype,
            "histograms: the input is {} and the edges are {}; convert one",
            points.dtype,
            edge.dtype,
        )
    shape = [edge.shape[0] - 1 for edge in edges]
    place = api.zeros(points.shape[0], dtype=api.int64, device=points.device)
    inside = api.ones_like(place, dtype=api.bool)
    for d, edge in enumerate(edges):
        column = points[:, d].contiguous()
        index = api.searchsorted(edge, column, right=True) - 1
        index = api.where(column == edge[-1], shape[d] - 1, index)
        inside = inside & (column >= edge[0]) & (column <= edge[-1])
        place = place * shape[d] + index
    counted = api.ones_like(points[:, 0]) if weight is None else weight.reshape(-1)
    hist = points.new_zeros(math.prod(shape))
    hist = hist.index_add(0, place[inside], counted[inside]).reshape(shape)
    if density:
        hist = hist / hist.sum()
        for d, edge in enumerate(edges):
            wide = [-1 if k == d else 1 for k, _ in enumerate(edges)]
            hist = hist / (edge[1:] - edge[:-1]).reshape(wide)
    return hist, tuple(edges)


def _equal_bins(points, counts, limits):
    """The edges of so many equal bins of each column."""
    return [
        _edges(
            points[:, d], count, None if limits is None else limits[2 * d : 2 * d + 2]
        )
        for d, count in enumerate(counts)
    ]


def _edges(column, count, limits):
    require(count > 0, "histogram: {} bins; give a positive number", count)
    if limits is not None:
        low, high = limits
    elif column.numel():
        low, high = float(column.min()), float(column.max())
    else:
        low, high = 0.0, 1.0
    require(
        math.isfinite(low) and math.isfinite(high) and low <= high,
        "histogram: the range from {} to {} is empty",
        low,
        high,
    )
    if low == high:
        low, high = low - 0.5, high + 0.5
    return api.linspace(low, high, count + 1, dtype=column.dtype, device=column.device)


@composite(
    "hash_tensor(Tensor self, int[1] dim=[], *, bool keepdim=False, int mode=0) "
    "-> Tensor",
    out=True,
    seen=True,
)
def hash_tensor(x, dim, *, keepdim, mode):
    """The exclusive or of the elements' bits over some dims, by default all; floats are
    converted to float64, integers to int64.
    """
    require(mode == 0, "hash_tensor: Unknown hash_tensor mode: {}", mode)
    if x.is_complex():
        raise NotImplementedError(f"hash_tensor: not implemented for {x.dtype}")
    sizes = [x.shape[d] for d in dim] if dim else [x.numel()]
    error = IndexError if dim else RuntimeError
    require(
        0 not in sizes,
        "hash_tensor: nothing to reduce in a tensor of shape {}\nGive dims that are "
        "not empty",
        x.shape,
        error=error,
    )
    wide = x.double().view(api.int64) if x.is_floating_point() else x.long()
    rank = x.dim()
    over = sorted({d % rank for d in dim} or range(rank)) if rank else []
    others = [d for d in range(rank) if d not in over]
    rest = [x.shape[d] for d in others]
    rows = wide.permute((*over, *others)).reshape(-1, *rest)
    while rows.shape[0] > 1:
        half = rows.shape[0] // 2
        combined = rows[:half] ^ rows[half : 2 * half]
        rows = api.cat([combined, rows[2 * half :]]) if rows.shape[0] % 2 else combined
    shape = [1 if d in over else n for d, n in enumerate(x.shape)] if keepdim else rest
    return rows.reshape(shape).view(api.uint64)
