"""Elements selected by indices or by a mask: embedding, take, masked_select."""

from pellucid_compiler.catalogue.indexing import gather
from pellucid_compiler.catalogue.scans import cumsum
from pellucid_compiler.catalogue.seen import summed
from pellucid_compiler.composites import api
from pellucid_compiler.declare import (
    ask,
    broadcast_element,
    broadcast_shapes,
    cast,
    const,
    data_dependent,
    detach,
    expand_to,
    loop,
    nonzero_of,
    num_elements,
    require,
    reshape,
    scan_op,
    scatter,
    tabulate,
    to,
    unsqueeze,
    where,
    with_partials,
    wrap_dim,
    wrap_index,
)


@loop(
    "embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, "
    "bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
    method=False,
    backward="embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt "
    "num_weights, SymInt padding_idx, bool scale_grad_by_freq) -> Tensor",
    backward_reads="num_weights=rows(weight)",
    backward_out="out",
    core=("embedding", "embedding_dense_backward"),
)
def embedding(weight, indices, padding_idx, scale_grad_by_freq, sparse):
    """The rows of ``weight`` at ``indices``; the row ``padding_idx`` gets no gradient.

    With ``scale_grad_by_freq`` a row's gradient is divided by how often it was read.
    """
    require(
        weight.rank == 2,
        f"embedding: weight has rank {weight.rank}; give a matrix, a row per entry",
    )
    require(
        indices.dtype in ("int64", "int32"),
        f"embedding: indices have dtype {indices.dtype}; give int64 or int32",
    )
    require(
        not sparse,
        "embedding: sparse gradients do not exist yet; leave sparse=True out",
        error=NotImplementedError,
    )
    scale = _inverse_counts(weight, indices) if scale_grad_by_freq else None
    padded = not ask(padding_idx < 0)

    def element(*p):
        row = indices[p[:-1]]
        value = weight[row, p[-1]]
        if scale is not None:
            value = with_partials(value, [value, scale[row]], lambda e, s, y: (s, 0))
        return where(row == padding_idx, detach(value), value) if padded else value

    return tabulate([*indices.shape, weight.shape[1]], element)


def _inverse_counts(weight, indices):
    """One over the count of each row of ``weight`` in ``indices``."""
    counts = scatter(
        [weight.shape[0]],
        indices.shape,
        lambda *p: ([cast(indices[p], "int64")], const(1, "int64")),
    )
    return tabulate(
        counts.shape,
        lambda row: 1 / cast(where(counts[row] > 0, counts[row], 1), weight.dtype),
    )


_FLAT_MESSAGE = "out of range: tried to access index {} on a tensor of {} elements."


@loop("take(Tensor self, Tensor index) -> Tensor", index_message=_FLAT_MESSAGE)
def take(x, index):
    """The elements of flattened ``x`` at ``index``."""
    require(
        index.dtype == "int64",
        f"take: the index has dtype {index.dtype}; give int64",
    )
    total = num_elements(x)
    flat = reshape(x, [total])
    return tabulate(index.shape, lambda *p: flat[wrap_index(index[p], total)])


take.gradients_seen_as(
    self=lambda grad, size, index: grad.new_zeros(size).put(index, grad, True)
)


@loop(
    "put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor",
    inplace=True,
    index_message=_FLAT_MESSAGE,
    out=False,
    forms=(
        "put.out(Tensor self, Tensor index, Tensor source, bool accumulate=False, *, "
        "Tensor(a!) out) -> Tensor(a!)",
    ),
    rare=True,
    layout="operand",
)
def put(x, index, source, accumulate):
    """``x`` with ``source`` written at ``index`` of flattened ``x``; the last one wins,
    or all are added with ``accumulate``.
    """
    require(
        index.dtype == "int64",
        f"put: the index has dtype {index.dtype}; give int64",
    )
    require(
        x.dtype == source.dtype,
        f"put: self is {x.dtype} and source {source.dtype}; convert one of them",
    )
    count, total = num_elements(index), num_elements(x)
    require(
        count == num_elements(source),
        "put: {} indices for {} elements of source",
        count,
        num_elements(source),
        error=IndexError,
    )
    places, values = reshape(index, [count]), reshape(source, [count])
    flat = scatter(
        [total],
        [count],
        lambda k: ([wrap_index(places[k], total)], values[k]),
        "sum" if accumulate else "assign",
        into=reshape(x, [total]),
    )
    return reshape(flat, x.shape)


put.gradients_seen_as(
    self=lambda grad, index, accumulate: (
        grad if accumulate else grad.put(index, grad.new_zeros(index.shape))
    ),
    source=lambda grad, size, index: grad.take(index).reshape(size),
)


@loop(
    "take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor",
    node="GatherBackward0",
)
def take_along_dim(x, indices, dim):
    """``gather`` with the other dims broadcast; without ``dim``, of flat tensors."""
    require(
        indices.dtype in ("int64", "int32"),
        f"take_along_dim: the indices have dtype {indices.dtype}; give int64 or int32",
    )
    if dim is None:
        total = num_elements(x)
        flat, places = reshape(x, [total]), reshape(indices, [num_elements(indices)])
        return tabulate(
            places.shape, lambda k: flat[wrap_index(cast(places[k], "int64"), total)]
        )
    require(
        x.rank == indices.rank,
        f"take_along_dim: the tensor has rank {x.rank}, the indices {indices.rank}",
    )
    dim = wrap_dim(dim, x.rank)
    if not x.rank:
        return gather(x, dim, indices)
    shape = list(broadcast_shapes(*(_shape_without(t, dim) for t in (x, indices))))
    size = x.shape[dim]
    wide = expand_to(x, [*shape[:dim], size, *shape[dim:]])
    out = [*shape[:dim], indices.shape[dim], *shape[dim:]]

    def element(*p):
        place = cast(broadcast_element(indices, p, out), "int64")
        return wide[[*p[:dim], wrap_index(place, size), *p[dim + 1 :]]]

    return tabulate(out, element)


def _shape_without(x, dim):
    return [n for d, n in enumerate(x.shape) if d != dim]


@loop(
    "pellucid::_one_hot(Tensor self, SymInt num_classes) -> Tensor",
    method=False,
    out=False,
    index_error=RuntimeError,
)
def one_hot(x, num_classes):
    """1 at index ``x`` of a new last dim, 0 elsewhere."""
    require(
        x.dtype == "int64",
        f"one_hot: the class numbers have dtype {x.dtype}; give int64",
    )
    require(num_classes > 0, "one_hot: {} classes; give at least one", num_classes)
    return scatter(
        [*x.shape, num_classes],
        x.shape,
        lambda *p: ([*p, x[p]], const(1, "int64")),
        "assign",
    )


@data_dependent("where(Tensor condition) -> Tensor[]", method=False, out=False)
def where_true(condition):
    """The indices of the elements that are not zero: one vector per dim."""
    return _true_places(condition)


@data_dependent(
    "nonzero_numpy(Tensor self) -> Tensor[]", out=False, method=False, function=False
)
def nonzero_numpy(x):
    """The indices of the elements that are not zero: one vector per dim."""
    return _true_places(x)


def _true_places(x):
    x = x if x.rank else unsqueeze(x, 0)
    indices = nonzero_of(tabulate(x.shape, lambda *p: x[p] != 0))
    return [
        tabulate([indices.shape[0]], lambda n, d=d: indices[n, d])
        for d in range(x.rank)
    ]


@data_dependent("masked_select(Tensor self, Tensor mask) -> Tensor", casts_out=False)
def masked_select(x, mask):
    """The elements of ``x`` where ``mask``, in row-major order; both broadcast."""
    _require_mask("masked_select", mask)
    shape = broadcast_shapes(x.shape, mask.shape)
    if not shape:
        x, mask = unsqueeze(x, 0), unsqueeze(mask, 0)
        shape = x.shape
    x, indices = expand_to(x, shape), nonzero_of(expand_to(mask, shape))
    return tabulate(
        [indices.shape[0]], lambda n: x[[indices[n, d] for d in range(len(shape))]]
    )


def _at_selected(grad, size, mask):
    whole = api.broadcast_shapes(size, mask.shape)
    zeros = grad.new_zeros(whole)
    return summed(zeros.masked_scatter(mask.expand(whole), grad), size)


masked_select.gradients_seen_as(self=_at_selected)


@scan_op(
    "masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor",
    inplace=True,
    index_error=RuntimeError,
    core=True,
)
def masked_scatter(x, mask, source):
    """``x`` with the elements of ``source``, in order, where ``mask``."""
    _require_mask("masked_scatter", mask)
    require(
        x.dtype == source.dtype,
        f"masked_scatter: self is {x.dtype} and source {source.dtype}; convert one",
    )
    shape = broadcast_shapes(x.shape, mask.shape)
    flat = reshape(source, [num_elements(source)])
    if not shape:
        return tabulate([], lambda: where(mask[()], flat[0], x[()]))
    size = num_elements(expand_to(x, shape))
    chosen = reshape(expand_to(mask, shape), [size])
    count = cumsum(to(chosen, "int64"), 0, None)
    values = reshape(expand_to(x, shape), [size])
    elements = tabulate(
        values.shape, lambda n: where(chosen[n], flat[count[n] - 1], values[n])
    )
    return reshape(elements, shape)


masked_scatter.gradients_seen_as(
    self=lambda grad, size, mask: summed(grad.masked_fill(mask, 0), size),
    source=lambda grad, size, mask: api.ops.aten.masked_scatter_backward(
        grad, mask.expand(grad.shape), size
    ),
)


def _require_mask(name, mask):
    require(
        mask.dtype == "bool",
        f"{name}: the mask has dtype {mask.dtype}; give a bool tensor",
    )
