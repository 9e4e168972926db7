"""Indexing by tensors: gather, scatter, index, index_put, nonzero."""

import math

from pellucid_compiler.catalogue.seen import summed
from pellucid_compiler.composites import api
from pellucid_compiler.declare import (
    Tensor,
    ask,
    broadcast_element,
    broadcast_shapes,
    cast,
    const,
    data_dependent,
    loop,
    nonzero_of,
    require,
    scatter,
    sizes_text,
    tabulate,
    where,
    wrap_dim,
    wrap_index,
)


@loop(
    "gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
    index_error=RuntimeError,
    core=True,
)
def gather(x, dim, index, sparse_grad):
    """``x`` at ``index`` along ``dim``: ``out[i, j] = x[index[i, j], j]`` for dim 0."""
    dim = wrap_dim(dim, x.rank)
    require_index("gather", x, dim, index, x)
    x = as_vector(x)
    if index.rank == 0:
        return tabulate([], lambda: x[index[()]])
    if index.rank != x.rank:
        return tabulate(index.shape, lambda *p: const(0, x.dtype))
    return tabulate(index.shape, lambda *p: x[[*p[:dim], index[p], *p[dim + 1 :]]])


@loop(
    "scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
    inplace=True,
    index_error=RuntimeError,
    core=True,
)
def scatter_add(x, dim, index, src):
    """``x`` with ``src`` added at ``index`` along ``dim``, in the order of the
    index.
    """
    require(
        x.dtype == src.dtype,
        f"scatter_add: self is {x.dtype} and src {src.dtype}; convert one of them",
    )
    return stored("scatter_add", x, dim, index, src, "sum")


def require_index(name, x, dim, index, other):
    """Check the index of a gather or scatter; returns whether it is empty."""
    if _is_empty(index):
        return True
    require(
        index.dtype in ("int64", "int32"),
        f"{name}: the index has dtype {index.dtype}; give int64 or int32",
    )
    require(
        len({max(t.rank, 1) for t in (x, index, other)}) == 1,
        f"{name}: the index has rank {index.rank}, the tensors {x.rank} and "
        f"{other.rank}; they must be equal",
    )
    sizes, *limits = ([*t.shape] or [const(1)] for t in (index, x, other))
    for d, n in enumerate(sizes):
        for limit, is_limited in zip(limits, (d != dim, other is not x), strict=True):
            if is_limited:
                require(
                    n <= limit[d],
                    f"{name}: in dim {d} the index has size {{}}, more than {{}}",
                    *(n, limit[d]),
                )
    return False


def as_vector(x):
    """A scalar as a vector of one element, which an index selects."""
    return x if x.rank else tabulate([1], lambda i: x[()])


def stored(name, x, dim, index, src, combine, limits=None):
    """``src``, a tensor or number, combined into ``x`` at ``index`` along ``dim``.

    ``limits`` is a tensor whose sizes, like those of ``x``, bound the sizes of the
    index.
    """
    dim = wrap_dim(dim, x.rank)
    is_number = not hasattr(src, "rank")
    if limits is None:
        limits = x if is_number else src
    if require_index(name, x, dim, index, limits):
        return tabulate(x.shape, lambda *p: x[p])

    def value(p):
        return cast(src, x.dtype) if is_number else src[p[: src.rank]]

    def point(*p):
        place = cast(index[p], "int64")
        return [*p[:dim], place, *p[dim + 1 :]], value(p or [0])

    into = as_vector(x)
    out = scatter(into.shape, index.shape, point, combine, into)
    return out if x.rank else tabulate([], lambda: out[0])


def _is_empty(index):
    return any(ask(n == 0) for n in index.shape)


@data_dependent("nonzero(Tensor self) -> Tensor", core=True, casts_out=False)
def nonzero(x):
    """The indices of the elements that are not zero, one row each."""
    return nonzero_of(tabulate(x.shape, lambda *p: x[p] != 0))


@loop(
    "index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
    out="Tensor_out",
    forms=("index.Tensor_hacked_twin(Tensor self, Tensor[] indices) -> Tensor",),
    function=False,
    core=True,
    tags="dynamic_output_shape",
)
def index(x, indices):
    """``x[indices]``: index tensors broadcast together, None keeps a whole dim.

    The broadcast index dims replace the indexed dims, or come first if those are not
    adjacent.
    """
    shape, source = index_map(x, indices)
    return tabulate(shape, lambda *p: x[source(p)])


index.gradients_seen_as(
    self=lambda grad, size, indices: grad.new_zeros(size).index_put(
        indices, grad, accumulate=True
    )
)


@loop(
    "index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) "
    "-> Tensor",
    forms=(
        "index_put.hacked_twin(Tensor self, Tensor[] indices, Tensor values, "
        "bool accumulate=False) -> Tensor",
        "index_put_.hacked_twin(Tensor(a!) self, Tensor[] indices, Tensor values, "
        "bool accumulate=False) -> Tensor(a!)",
    ),
    inplace=True,
    layout="operand",
    core=True,
    inplace_function=True,
)
def index_put(x, indices, values, accumulate):
    """``x`` with ``values`` at ``x[indices]``, or added to it; the last writer wins."""
    is_converted = x.dtype == values.dtype
    if is_converted and not accumulate and values.rank == 0 and _is_mask(x, indices):
        (mask,) = indices
        return tabulate(
            x.shape, lambda *p: where(mask[p[: mask.rank]] != 0, values[()], x[p])
        )
    shape, source = index_map(x, indices)
    require(
        is_converted,
        f"index_put: self is {x.dtype} and values {values.dtype}; convert one of them",
    )
    require(
        values.rank <= len(shape),
        f"index_put: values of rank {values.rank} for {len(shape)} indexed dims",
    )
    for size, expected in zip(
        values.shape, shape[len(shape) - values.rank :], strict=True
    ):
        require(
            (size == 1) | (size == expected),
            "index_put: values have size {} where the indexed part has {}",
            size,
            expected,
        )
    return scatter(
        x.shape,
        shape,
        lambda *p: (source(p), broadcast_element(values, p, shape)),
        "sum" if accumulate else "assign",
        into=x,
    )


index_put.gradients_seen_as(
    self=lambda grad, indices, accumulate=False: (
        grad if accumulate else grad.index_put(indices, grad.new_zeros(()))
    ),
    values=lambda grad, size, indices: summed(
        api.ops.aten.index.Tensor(grad, indices), size
    ),
)


def _is_mask(x, indices):
    """Whether the only index is a mask of the first dims, so that the number of true
    elements need not be known.
    """
    if len(indices) != 1 or not isinstance(indices[0], Tensor):
        return False
    mask = indices[0]
    if mask.dtype not in ("bool", "uint8") or not 0 < mask.rank <= x.rank:
        return False
    _require_sizes(x, mask, 0)
    return True


def index_map(x, indices):
    """(shape of ``x[indices]``, function from its points to points of ``x``)."""
    full = _expanded(x, indices)
    indexed = [d for d, i in enumerate(full) if i is not None]
    if not indexed:
        return list(x.shape), lambda p: p
    common = broadcast_shapes(*(full[d].shape for d in indexed), error=IndexError)
    chosen_from = [x.shape[d] for d in indexed]
    require(
        (num_places(common) == 0) | (num_places(chosen_from) != 0),
        "an index selects from a dim that has no elements",
        error=IndexError,
        on_meta=False,
    )
    together = indexed == list(range(indexed[0], indexed[-1] + 1))
    first = indexed[0] if together else 0
    free = [d for d in range(x.rank) if full[d] is None]
    shape = [x.shape[d] for d in free]
    shape[first:first] = common

    def source(p):
        picked = p[first : first + len(common)]
        rest = dict(zip(free, [*p[:first], *p[first + len(common) :]], strict=True))
        place = []
        for d, i in enumerate(full):
            if i is None:
                place.append(rest[d])
            else:
                chosen = cast(broadcast_element(i, picked, common), "int64")
                place.append(wrap_index(chosen, x.shape[d]))
        return place

    return shape, source


def num_places(shape):
    """The number of places of a shape."""
    return math.prod(shape, start=const(1, "int64"))


def _expanded(x, indices):
    """One entry per dim of ``x``: None or a tensor of integers; masks become
    indices.
    """
    full = []
    for i in indices:
        if not isinstance(i, Tensor) or i.dtype not in ("bool", "uint8"):
            _require_integers(i)
            full.append(i)
            continue
        _require_sizes(x, i, len(full))
        full += _coordinates(nonzero(i), i.rank)
    require(
        len(full) <= x.rank,
        f"index: {len(full)} indices for a tensor of rank {x.rank}",
        error=IndexError,
    )
    return full + [None] * (x.rank - len(full))


def _require_sizes(x, mask, first):
    """Check that the mask's sizes are those of the dims from ``first`` on."""
    for d, n in enumerate(mask.shape, first):
        require(
            n == (x.shape[d] if d < x.rank else const(0)),
            f"The shape of the mask {sizes_text(mask)} at index {d - first} does not "
            f"match the shape of the indexed tensor {sizes_text(x)} at index {d}",
            *(*mask.shape, *x.shape),
            error=IndexError,
        )


def _coordinates(places, rank):
    """The columns of nonzero's result: one index tensor per dim of the mask."""
    return [
        tabulate([places.shape[0]], lambda n, k=k: places[n, k]) for k in range(rank)
    ]


def _require_integers(i):
    if i is not None:
        require(
            i.dtype in ("int64", "int32"),
            f"index: an index tensor has dtype {i.dtype}; give int64, int32 or bool",
            error=IndexError,
        )
