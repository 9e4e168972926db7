"""Ops by order: sort, argsort, topk, kthvalue, median, unique.

The library routines return indices; the values are then gathered, so gradients follow.
The order is stable: equal elements in order of their index, NaN after every number.
"""

from pellucid_compiler.catalogue.real_only import refuse_bool
from pellucid_compiler.catalogue.scans import cumsum
from pellucid_compiler.catalogue.seen import scattered, share_of_equals
from pellucid_compiler.declare import (
    NAN,
    ROUTINES,
    Routine,
    ask,
    cast,
    const,
    data_dependent,
    detach,
    isnan,
    library,
    library_op,
    lift,
    nonzero_of,
    num_elements,
    permute,
    require,
    reshape,
    scatter,
    size_of,
    some,
    tabulate,
    total,
    total_over,
    unsqueeze,
    where,
    wrap_dim,
)


@library_op(
    "sort(Tensor self, int dim=-1, bool descending=False) "
    "-> (Tensor values, Tensor indices)",
    out="values",
    layout="operand",
    core=True,
)
def sort(x, dim, descending):
    """The elements in order along ``dim``, and their indices."""
    return _with_values(x, dim, _order(x, dim, descending))


sort.gradients_seen_as(self=scattered)


@library_op(
    "sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) "
    "-> (Tensor values, Tensor indices)",
    node="SortBackward1",
    out="values_stable",
    layout="operand",
)
def sort_stable(x, stable, dim, descending):
    """``sort``, which is always stable."""
    return _with_values(x, dim, _order(x, dim, descending))


@library_op(
    "argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor",
    out=False,
    layout="operand",
)
def argsort(x, dim, descending):
    """The indices that sort the elements along ``dim``."""
    return _order(x, dim, descending)


@library_op(
    "argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) "
    "-> Tensor",
    layout="operand",
    casts_out=False,
)
def argsort_stable(x, stable, dim, descending):
    """``argsort``, which is always stable."""
    return _order(x, dim, descending)


@library_op(
    "msort(Tensor self) -> Tensor",
    node="SortBackward0",
    layout="operand",
    casts_out=False,
)
def msort(x):
    """The elements in order along the first dim."""
    return sort.function(x, 0, False)[0]


@library_op(
    "topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) "
    "-> (Tensor values, Tensor indices)",
    out="values",
    core=True,
)
def topk(x, k, dim, largest, sorted):
    """The ``k`` greatest or least elements along ``dim``, in order, and their
    indices.
    """
    refuse_bool("topk", x)
    dim = wrap_dim(dim, x.rank)
    require(
        (k >= 0) & (k <= size_of(x, dim)),
        "topk: k is {}, but the dim has {} elements",
        k,
        size_of(x, dim),
    )
    if not x.rank:
        where_from = tabulate([], lambda: const(0, "int64"))
        return tabulate([], lambda: x[()]), where_from
    return _with_values(x, dim, _chosen(x, dim, k, largest))


topk.gradients_seen_as(self=scattered)


@library_op(
    "kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) "
    "-> (Tensor values, Tensor indices)",
    refuses=("bool",),
    out="values",
)
def kthvalue(x, k, dim, keepdim):
    """The ``k``-th least element along ``dim``, and its index."""
    dim = wrap_dim(dim, x.rank)
    _require_elements("kthvalue", x, dim)
    require(
        (k >= 1) & (k <= size_of(x, dim)),
        "kthvalue: k is {}, but the dim has {} elements",
        k,
        size_of(x, dim),
    )
    return _element_at_rank(x, dim, lambda p: k - 1, keepdim)


@library_op(
    "median.dim(Tensor self, int dim, bool keepdim=False) "
    "-> (Tensor values, Tensor indices)",
    refuses=("bool",),
    node="MedianBackward1",
    out="dim_values",
    tags="reduction",
)
def median_dim(x, dim, keepdim):
    """The middle element along ``dim``, the lower one of two, and its index; NaN if
    there is one.
    """
    dim = wrap_dim(dim, x.rank)
    _require_elements("median", x, dim)
    last = size_of(x, dim) - 1
    if not x.is_floating or not x.rank:
        return _element_at_rank(x, dim, lambda p: last // 2, keepdim)
    spoiled = _any_nan(x, dim)
    return _element_at_rank(
        x, dim, lambda p: where(spoiled[p], last, last // 2), keepdim
    )


@library_op("median(Tensor self) -> Tensor", refuses=("bool",), tags="reduction")
def median(x):
    """The middle element, the lower one of two; NaN if there is one, or none at all."""
    flat = reshape(x, [num_elements(x)])
    if ask(flat.shape[0] == 0):
        return tabulate([], lambda: cast(const(NAN), x.dtype))
    return median_dim.function(flat, 0, False)[0]


median.gradients_seen_as(self=share_of_equals)


@median.vjp("PyTorch's gradient: elements that equal the median share it")
def _(x, y, grad, derived):
    return _shared(x, y, grad)


@library_op(
    "nanmedian.dim(Tensor self, int dim, bool keepdim=False) "
    "-> (Tensor values, Tensor indices)",
    refuses=("bool",),
    node="NanmedianBackward1",
    out="dim_values",
    tags="reduction",
)
def nanmedian_dim(x, dim, keepdim):
    """The middle one of the elements along ``dim`` that are not NaN, and its index."""
    dim = wrap_dim(dim, x.rank)
    _require_elements("nanmedian", x, dim)
    if not x.is_floating or not x.rank:
        return median_dim.function(x, dim, keepdim)
    valid = _count_where(x, dim, lambda e: ~isnan(e))
    return _element_at_rank(
        x, dim, lambda p: where(valid[p] > 0, (valid[p] - 1) // 2, 0), keepdim
    )


@library_op("nanmedian(Tensor self) -> Tensor", refuses=("bool",), tags="reduction")
def nanmedian(x):
    """The middle one of the elements that are not NaN; NaN without any."""
    flat = reshape(x, [num_elements(x)])
    if ask(flat.shape[0] == 0):
        return tabulate([], lambda: cast(const(NAN), x.dtype))
    return nanmedian_dim.function(flat, 0, False)[0]


nanmedian.gradients_seen_as(self=share_of_equals)


@nanmedian.vjp("PyTorch's gradient: elements that equal the median share it")
def _(x, y, grad, derived):
    return _shared(x, y, grad)


def _shared(x, y, grad):
    """``grad`` in equal parts for the elements of ``x`` that are ``y``."""
    is_middle = lift(lambda e, m: (e == m) | (isnan(e) & isnan(m)), x, y)
    count = total_over(lift(lambda e: cast(e, x.dtype), is_middle))
    return where(is_middle, grad / count, 0)


def _require_elements(name, x, dim):
    require(
        size_of(x, dim) > 0,
        f"{name}: Expected reduction dim {dim} to have non-zero size",
        error=IndexError,
    )


def _any_nan(x, dim):
    """Whether there is a NaN along ``dim``."""
    shape = [n for d, n in enumerate(x.shape) if d != dim]
    return tabulate(
        shape,
        lambda *p: some([x.shape[dim]], lambda k: isnan(x[[*p[:dim], k, *p[dim:]]])),
    )


def _count_where(x, dim, holds):
    """The number of elements along ``dim`` for which ``holds`` is true."""
    shape = [n for d, n in enumerate(x.shape) if d != dim]
    return tabulate(
        shape,
        lambda *p: total(
            [x.shape[dim]],
            lambda k: cast(holds(x[[*p[:dim], k, *p[dim:]]]), "int64"),
        ),
    )


def _element_at_rank(x, dim, position, keepdim):
    """The element at a position of the order along ``dim``, and its index."""
    if not x.rank:
        return tabulate([], lambda: x[()]), tabulate([], lambda: const(0, "int64"))
    _require_real(x)
    others = [d for d in range(x.rank) if d != dim]
    shape = [x.shape[d] for d in others]
    ranks = tabulate(shape, lambda *p: cast(position(p), "int64"))
    places = library("argrank", permute(detach(x), [*others, dim]), ranks)[0]
    values = tabulate(shape, lambda *p: x[[*p[:dim], places[p], *p[dim:]]])
    if not keepdim:
        return values, places
    return unsqueeze(values, dim), unsqueeze(places, dim)


def _order(x, dim, descending):
    """The indices that sort the elements along ``dim``."""
    dim = wrap_dim(dim, x.rank)
    if not x.rank:
        return tabulate([], lambda: const(0, "int64"))
    return _along_last(
        x, dim, lambda rows: library("argsort", rows, descending=descending)[0]
    )


def _chosen(x, dim, k, largest):
    return _along_last(
        x, dim, lambda rows: library("argtopk", rows, k=k, largest=largest)[0]
    )


def _along_last(x, dim, routine):
    """``routine`` of rows, applied along ``dim``."""
    _require_real(x)
    order = [*(d for d in range(x.rank) if d != dim), dim]
    places = routine(permute(detach(x), order))
    return permute(places, [order.index(d) for d in range(x.rank)])


def _require_real(x):
    require(
        "complex" not in x.dtype, f"{x.dtype} numbers have no order; sort their abs()"
    )


def _with_values(x, dim, places):
    """(the elements of ``x`` at indices ``places`` along ``dim``, the indices)."""
    dim = wrap_dim(dim, x.rank)
    if not x.rank:
        return tabulate([], lambda: x[()]), places
    values = tabulate(places.shape, lambda *p: x[[*p[:dim], places[p], *p[dim + 1 :]]])
    return values, places


@data_dependent(
    "_unique2(Tensor self, bool sorted=True, bool return_inverse=False, "
    "bool return_counts=False) -> (Tensor, Tensor, Tensor)",
    method=False,
    out=False,
)
def unique2(x, sorted, return_inverse, return_counts):
    """The distinct elements in order, the index of each element among them, and their
    counts; the latter two are empty unless requested. NaNs are distinct.
    """
    count = num_elements(x)
    flat = reshape(x, [count])
    order = _order(flat, 0, False)
    # The reshape materialises it, so that its readers do not repeat the lookups.
    ranked = reshape(tabulate([count], lambda k: flat[order[k]]), [count, 1])
    before = ranked.outside(0)

    def begins(k):
        return (k == 0) | (ranked[k, 0] != before[k - 1, 0])

    starts = nonzero_of(tabulate([count], begins))
    number = starts.shape[0]
    values = tabulate([number], lambda k: ranked[starts[k, 0], 0])

    def width(k):
        last = k == number - 1
        following = where(last, count, starts[where(last, k, k + 1), 0])
        return following - starts[k, 0]

    inverse = counts = tabulate([0], lambda k: const(0, "int64"))
    if return_inverse:
        group = cumsum(tabulate([count], lambda k: cast(begins(k), "int64")), 0)
        places = scatter(
            [count], [count], lambda k: ([order[k]], group[k] - 1), "assign"
        )
        inverse = reshape(places, x.shape)
    if return_counts:
        counts = tabulate([number], width)
    return values, inverse, counts


def _sorted_places(rows, descending):
    """The implementation of ``argsort`` for the interpreter."""
    import numpy

    if not descending:
        return [numpy.argsort(rows, -1, kind="stable").astype("int64")]
    backwards = numpy.argsort(rows[..., ::-1], -1, kind="stable")
    return [(rows.shape[-1] - 1 - backwards[..., ::-1]).astype("int64")]


def _top_places(rows, k, largest):
    return [_sorted_places(rows, largest)[0][..., :k]]


def _ranked_places(rows, ranks):
    import numpy

    order = _sorted_places(rows, False)[0]
    return [numpy.take_along_axis(order, ranks[..., None], -1)[..., 0]]


ROUTINES["argsort"] = Routine(
    "argsort",
    lambda rows, descending: [(rows.shape, "int64")],
    _sorted_places,
    core=(1,),
)
ROUTINES["argtopk"] = Routine(
    "argtopk",
    lambda rows, k, largest: [((*rows.shape[:-1], k), "int64")],
    _top_places,
    core=(1,),
)
ROUTINES["argrank"] = Routine(
    "argrank",
    lambda rows, ranks: [(ranks.shape, "int64")],
    _ranked_places,
    core=(1, 0),
)
