"""Indexing along one dim: index_select, index_add, index_copy, index_fill."""

from pellucid_compiler.catalogue.seen import scaled
from pellucid_compiler.declare import (
    cast,
    loop,
    require,
    require_fits,
    scatter,
    tabulate,
    to,
    unsqueeze,
    where,
    wrap_dim,
    wrap_index,
)
from pellucid_compiler.ir.dtypes import is_complex


@loop("index_select(Tensor self, int dim, Tensor index) -> Tensor", core=True)
def index_select(x, dim, index):
    """The slices of ``x`` at ``index`` along ``dim``."""
    dim = wrap_dim(dim, x.rank)
    index = vector_of_indices("index_select", index)
    if x.rank == 0:
        require(
            index.shape[0] == 1,
            "index_select: {} indices into a tensor of rank 0, which has one element",
            index.shape[0],
        )
        return tabulate([], lambda: unsqueeze(x, 0)[index[0]])
    shape = [*x.shape[:dim], index.shape[0], *x.shape[dim + 1 :]]
    return tabulate(shape, lambda *p: x[[*p[:dim], index[p[dim]], *p[dim + 1 :]]])


index_select.gradients_seen_as(
    self=lambda grad, size, dim, index: grad.new_zeros(size).index_add(dim, index, grad)
)


def vector_of_indices(name, index):
    """``index`` as a vector of integers."""
    require(
        index.dtype in ("int64", "int32"),
        f"{name}: the index has dtype {index.dtype}; give int64 or int32",
        error=IndexError if name == "index_fill" else RuntimeError,
    )
    require(
        index.rank <= 1,
        f"{name}: the index has rank {index.rank}; give a vector",
        error=RuntimeError if name == "index_fill" else IndexError,
    )
    return index if index.rank else unsqueeze(index, 0)


@loop(
    "index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) "
    "-> Tensor",
    inplace=True,
    index_error=RuntimeError,
)
def index_add(x, dim, index, source, alpha):
    """``x`` with ``alpha`` times the slices of ``source`` added at ``index``, in the
    order of the index.
    """
    index = vector_of_indices("index_add", index)
    require_source("index_add", x, dim, index, source, RuntimeError)
    require_fits("index_add", alpha, x.dtype)
    return _stored(x, dim, index, source, lambda e: e * cast(alpha, x.dtype), "sum")


index_add.gradients_seen_as(
    self=lambda grad: grad,
    source=lambda grad, size, dim, index, alpha=1: scaled(
        grad.index_select(dim, index).expand(size), alpha
    ),
)


@loop(
    "index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor",
    inplace=True,
    autocast="widest",
)
def index_copy(x, dim, index, source):
    """``x`` with the slices of ``source`` written at ``index``; the last one wins."""
    index = vector_of_indices("index_copy", index)
    require_source("index_copy", x, dim, index, source, IndexError)
    return _stored(x, dim, index, source, lambda e: e, "assign")


index_copy.gradients_seen_as(
    self=lambda grad, dim, index: grad.index_fill(dim, index, 0),
    source=lambda grad, size, dim, index: grad.index_select(dim, index).expand(size),
)


def _stored(x, dim, index, source, change, combine):
    """``change(source)`` combined into ``x`` at ``index`` along ``dim``."""
    dim = wrap_dim(dim, x.rank)
    if x.rank == 0:
        flat = source if source.rank else unsqueeze(source, 0)
        wide = unsqueeze(x, 0)
        out = scatter(
            wide.shape,
            index.shape,
            lambda k: ([cast(index[k], "int64")], change(flat[k])),
            combine,
            into=wide,
        )
        return tabulate([], lambda: out[0])

    def point(*p):
        place = cast(index[p[dim]], "int64")
        return [*p[:dim], place, *p[dim + 1 :]], change(source[p])

    wide = source if source.rank else unsqueeze(source, 0)
    source = wide
    return scatter(x.shape, source.shape, point, combine, into=x)


def require_source(name, x, dim, index, source, error):
    dim = wrap_dim(dim, x.rank)
    require(
        x.dtype == source.dtype,
        f"{name}: self is {x.dtype} and source {source.dtype}; convert one of them",
    )
    require(
        max(x.rank, 1) == max(source.rank, 1),
        f"{name}: self has rank {x.rank} and source {source.rank}; they must be equal",
        error=error,
    )
    sizes = source.shape if source.rank else [1]
    require(
        index.shape[0] == sizes[dim],
        f"{name}: {{}} indices for {{}} slices of source; give one for each",
        index.shape[0],
        sizes[dim],
        error=error,
    )
    for d in range(x.rank):
        if d != dim:
            require(
                x.shape[d] == sizes[d],
                f"{name}: in dim {d} self has size {{}} and source {{}}",
                x.shape[d],
                sizes[d],
            )


@loop(
    "index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
    inplace=True,
    out=False,
    forms=(
        "index_fill.int_Scalar_out(Tensor self, int dim, Tensor index, Scalar value, "
        "*, Tensor(a!) out) -> Tensor(a!)",
    ),
    layout="operand",
    backward="index_fill.int_Scalar(value=0)",
    writes_shared=True,
)
def index_fill(x, dim, index, value):
    """``x`` with ``value`` in the slices at ``index`` along ``dim``."""
    require(
        is_complex(x.dtype) or not is_complex(value.dtype),
        f"index_fill: the value is complex and self has dtype {x.dtype}; give a real "
        "number",
    )
    require_fits("index_fill", value, x.dtype)
    return _filled(x, dim, vector_of_indices("index_fill", index), cast(value, x.dtype))


@loop(
    "index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor",
    inplace=True,
    out=False,
    forms=(
        "index_fill.int_Tensor_out(Tensor self, int dim, Tensor index, Tensor value, "
        "*, Tensor(a!) out) -> Tensor(a!)",
    ),
    node="IndexFillBackward1",
    writes_shared=True,
    layout="operand",
)
def index_fill_tensor(x, dim, index, value):
    """``x`` with ``value``, of rank 0, in the slices at ``index`` along ``dim``."""
    require(
        value.rank == 0,
        f"index_fill: the value has rank {value.rank}; give a number or a tensor of "
        "rank 0",
    )
    value = to(value, x.dtype)
    marked = _filled(
        tabulate(x.shape, lambda *p: cast(False, "bool")),
        dim,
        vector_of_indices("index_fill", index),
        cast(True, "bool"),
    )
    return where(marked, value, x)


def _filled(x, dim, index, value):
    dim = wrap_dim(dim, x.rank)
    wide = x if x.rank else unsqueeze(x, 0)
    size = wide.shape[dim]
    extents = [*wide.shape[:dim], index.shape[0], *wide.shape[dim + 1 :]]

    def point(*p):
        place = wrap_index(cast(index[p[dim]], "int64"), size)
        return [*p[:dim], place, *p[dim + 1 :]], value

    out = scatter(wide.shape, extents, point, "assign", into=wide)
    return out if x.rank else tabulate([], lambda: out[0])
