"""Stores at computed indices along a dim: scatter, scatter_reduce."""

from pellucid_compiler.catalogue.dim_indexing import require_source, vector_of_indices
from pellucid_compiler.catalogue.indexing import gather, stored
from pellucid_compiler.declare import (
    cast,
    const,
    loop,
    map_elements,
    require,
    require_fits,
    tabulate,
    to,
    unsqueeze,
    where,
    wrap_dim,
)
from pellucid_compiler.ir.dtypes import highest, lowest

_COMBINES = {"add": "sum", "multiply": "prod"}
_REDUCTIONS = {
    "sum": "sum",
    "prod": "prod",
    "mean": "sum",
    "amax": "max",
    "amin": "min",
}


_OF_BOOLS = {"sum": "or", "prod": "and", "max": "or", "min": "and"}
_SLICE_REDUCTIONS = {name: _REDUCTIONS[name] for name in _REDUCTIONS if name != "sum"}


@loop(
    "scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
    inplace=True,
    index_error=RuntimeError,
    core=True,
)
def scatter_src(x, dim, index, src):
    """``x`` with ``src`` written at ``index`` along ``dim``; the last one wins."""
    _require_dtype("scatter", x, src)
    return stored("scatter", x, dim, index, src, "assign")


@loop(
    "scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
    inplace=True,
    index_error=RuntimeError,
    node="ScatterBackward1",
    core=True,
)
def scatter_value(x, dim, index, value):
    """``x`` with ``value`` at ``index`` along ``dim``."""
    require_fits("scatter", value, x.dtype)
    return stored("scatter", x, dim, index, value, "assign")


@loop(
    "scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) "
    "-> Tensor",
    inplace=True,
    index_error=RuntimeError,
)
def scatter_src_reduce(x, dim, index, src, reduce):
    """``x`` with ``src`` added (``"add"``) or multiplied (``"multiply"``) at
    ``index``.
    """
    _require_dtype("scatter", x, src)
    combine = _named("scatter", _COMBINES, reduce)
    return stored("scatter", x, dim, index, src, combine)


@loop(
    "scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, "
    "str reduce) -> Tensor",
    inplace=True,
    index_error=RuntimeError,
)
def scatter_value_reduce(x, dim, index, value, reduce):
    """``x`` with ``value`` added or multiplied at ``index`` along ``dim``."""
    require_fits("scatter", value, x.dtype)
    combine = _named("scatter", _COMBINES, reduce)
    return stored("scatter", x, dim, index, value, combine)


@loop(
    "scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, "
    "bool include_self=True) -> Tensor",
    inplace=True,
    index_error=RuntimeError,
    core=True,
)
def scatter_reduce(x, dim, index, src, reduce, include_self):
    """The ``sum``, ``prod``, ``mean``, ``amax`` or ``amin`` of all ``src`` with the
    same index, including the element of ``x`` with ``include_self``.
    """
    _require_dtype("scatter_reduce", x, src)
    combine = _named("scatter_reduce", _REDUCTIONS, reduce)
    if x.dtype == "bool":
        require(
            reduce != "mean",
            '"scatter_reduce" of the mean is not implemented for bool tensors: convert '
            "with .float() first",
            error=NotImplementedError,
        )
        combine = _OF_BOOLS[combine]
    ones = tabulate(x.shape, lambda *p: const(int(include_self), "int64"))
    counts = None
    if reduce == "mean" or not include_self:
        counts = stored("scatter_reduce", ones, dim, index, 1, "sum", src)
    start = x
    if not include_self:
        empty = cast(_start(combine, x.dtype), x.dtype)
        start = where(counts > 0, empty, x)
    out = stored("scatter_reduce", start, dim, index, src, combine)
    if reduce != "mean":
        return out
    return _divided(out, where(counts > 1, counts, 1))


def _seen_of_start(grad, dim, index, reduce, include_self):
    if reduce != "sum":
        return NotImplemented
    return grad if include_self else grad.scatter(dim, index, 0)


def _seen_of_scattered(grad, size, dim, index, reduce):
    if reduce != "sum" or index.shape != size:
        return NotImplemented
    return grad.gather(dim, index)


scatter_reduce.gradients_seen_as(self=_seen_of_start, src=_seen_of_scattered)


@loop(
    "index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, "
    "bool include_self=True) -> Tensor",
    refuses=("bool",),
    inplace=True,
    index_error=RuntimeError,
    rare=True,
)
def index_reduce(x, dim, index, source, reduce, include_self):
    """``scatter_reduce`` of whole slices of ``source`` at ``index`` along ``dim``."""
    _named("index_reduce", _SLICE_REDUCTIONS, reduce)
    index = vector_of_indices("index_reduce", index)
    require_source("index_reduce", x, dim, index, source, IndexError)
    dim = wrap_dim(dim, x.rank)
    wide, parts = (t if t.rank else unsqueeze(t, 0) for t in (x, source))
    places = tabulate(parts.shape, lambda *p: index[p[dim]])
    result = scatter_reduce(wide, dim, places, parts, reduce, include_self)
    return result if x.rank else tabulate([], lambda: result[0])


@scatter_reduce.vjp("a product has no derived rule: its slope is the other factors")
def _(x, dim, index, src, reduce, include_self, y, grad, derived):
    if reduce != "prod":
        return derived(grad)
    # The products of nonzero factors, and the numbers of zeros, avoid division by zero.
    start = x if include_self else tabulate(x.shape, lambda *p: const(1, x.dtype))
    first, factors = _without_zeros(start), _without_zeros(src)
    nonzero = stored("scatter_reduce", first, dim, index, factors, "prod")
    zeros = stored(
        "scatter_reduce",
        to(start == 0, "int64"),
        dim,
        index,
        to(src == 0, "int64"),
        "sum",
    )
    grad_x = grad * map_elements(_other_factors, nonzero, zeros, start)
    if not include_self:
        ones = tabulate(x.shape, lambda *p: const(True, "bool"))
        grad_x = where(
            stored("scatter_reduce", ones, dim, index, False, "and", src), grad, 0
        )
    factors = tabulate(index.shape, lambda *p: src[p[: src.rank]])
    at_index = (gather(t, dim, index) for t in (nonzero, zeros))
    slopes = map_elements(_other_factors, *at_index, factors)
    grad_parts = gather(grad, dim, index) * slopes
    return grad_x, tabulate(
        src.shape, lambda *p: grad_parts.outside(0)[p[: grad_parts.rank]]
    )


def _without_zeros(x):
    return where(x == 0, const(1, x.dtype), x)


def _other_factors(nonzero, zeros, factor):
    """The product without ``factor``."""
    alone = where((zeros == 1) & (factor == 0), nonzero, 0)
    return where(zeros == 0, nonzero / factor, alone)


def _divided(sums, counts):
    """``sums / counts``, rounded down for integers."""
    if sums.is_floating:
        return tabulate(sums.shape, lambda *p: sums[p] / cast(counts[p], sums.dtype))
    return tabulate(sums.shape, lambda *p: cast(sums[p] // counts[p], sums.dtype))


def _start(combine, dtype):
    if combine in ("max", "min"):
        return lowest(dtype) if combine == "max" else highest(dtype)
    return {"sum": 0, "prod": 1, "or": False, "and": True}[combine]


def _named(name, known, reduce):
    require(
        reduce in known,
        f"{name}: reduce is {reduce!r}; give one of {', '.join(map(repr, known))}",
    )
    return known[reduce]


def _require_dtype(name, x, src):
    require(
        x.dtype == src.dtype,
        f"{name}: self is {x.dtype} and src {src.dtype}; convert one of them",
    )
