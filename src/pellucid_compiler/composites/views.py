"""Views under other shapes and in another order: movedim, unflatten, broadcast_to."""

import math

from pellucid_compiler.composites import api, composite, require


def wrapped(dim, rank):
    """``dim`` counted from the front."""
    span = max(rank, 1)
    require(
        -span <= dim < span,
        "Dimension out of range (expected to be in range of [{}, {}], but got {})",
        -span,
        span - 1,
        dim,
        error=IndexError,
    )
    return dim % span


def wrapped_in(x, dim):
    """``dim`` counted from the front; raises for a tensor without dims."""
    require(
        x.dim() > 0,
        "Dimension specified as {} but tensor has no dimensions",
        dim,
        error=IndexError,
    )
    return wrapped(dim, x.dim())


@composite(
    "movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
    aliases=("moveaxis",),
)
def move_dims(x, source, destination):
    """The dims ``source`` moved to ``destination``, the others in their order."""
    require(
        len(source) == len(destination),
        "movedim: {} sources for {} destinations: give equal numbers",
        len(source),
        len(destination),
    )
    rank = x.dim()
    sources = [wrapped(d, rank) for d in source]
    places = [wrapped(d, rank) for d in destination]
    for name, dims in (("source", sources), ("destination", places)):
        distinct = len(set(dims)) == len(dims)
        require(distinct, "movedim: {} {} names a dimension twice", name, dims)
    source_at = dict(zip(places, sources, strict=True))
    rest = iter([d for d in range(rank) if d not in sources])
    return x.permute(
        [source_at[d] if d in source_at else next(rest) for d in range(rank)]
    )


@composite(
    "movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)",
    aliases=("moveaxis",),
)
def move_dim(x, source, destination):
    """The dim ``source`` moved to ``destination``."""
    rank = x.dim()
    moved, place = wrapped(source, rank), wrapped(destination, rank)
    order = list(range(rank))
    if order:
        order.insert(place, order.pop(moved))
    return x.permute(order)


@composite("swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)")
@composite("swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)")
def swap_dims(x, first, second):
    """A view with two dims swapped."""
    return x.transpose(first, second)


@composite(
    "swapaxes_(Tensor(a!) self, int axis0, int axis1) -> Tensor(a!)",
    function=False,
    tags="inplace_view",
)
@composite(
    "swapdims_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)",
    function=False,
    tags="inplace_view",
)
def swap_own_dims(x, first, second):
    """Two dims swapped in place."""
    return x.transpose_(first, second)


@composite("ravel(Tensor(a) self) -> Tensor(a)")
def ravel(x):
    """All elements in one dim."""
    return x.contiguous().view(-1)


@composite("unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)")
def unflatten(x, dim, sizes):
    """One dim as several of the given sizes, one of which may be -1."""
    dim = wrapped(dim, x.dim())
    require(len(sizes) > 0, "unflatten: the sizes are empty: give at least one")
    shape = tuple(x.shape)
    known = math.prod(size for size in sizes if size != -1)
    # The omitted size follows from this dim only: the tensor may be empty.
    if sizes.count(-1) == 1 and known > 0 and shape[dim] % known == 0:
        sizes = [shape[dim] // known if size == -1 else size for size in sizes]
    require(
        -1 in sizes or math.prod(sizes) == shape[dim],
        "unflatten: the sizes {} do not multiply to {}, the size of dim {}",
        tuple(sizes),
        shape[dim],
        dim,
    )
    return x.view(*shape[:dim], *sizes, *shape[dim + 1 :])


@composite("broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)")
def broadcast_to(x, size):
    """``x`` expanded to a shape."""
    return x.expand(size)


@composite("cpu(Tensor(a) self) -> Tensor(b|a)", method=False, function=False)
def cpu(x):
    """``x`` in the CPU's memory."""
    return x.cpu()


@composite(
    "chalf(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
    function=False,
)
def chalf(x, *, memory_format):
    """``x`` in complex numbers of half precision."""
    memory_format = memory_format or api.preserve_format
    return x.to(api.complex32, memory_format=memory_format)


@composite(
    "_unsafe_view(Tensor self, SymInt[] size) -> Tensor",
    method=False,
    function=False,
    seen=True,
    out=True,
)
def unsafe_view(x, size):
    """``view`` of a temporary tensor; the schema does not declare the result as a
    view.
    """
    return x.view(size)


@composite(
    "narrow.Tensor(Tensor(a) self, int dim, Tensor start, SymInt length) -> Tensor(a)"
)
def narrow(x, dim, start, length):
    """``narrow`` with ``start`` given as a tensor."""
    is_number = start.is_floating_point() or start.is_complex()
    require(
        start.dim() == 0 and not is_number and start.dtype is not api.bool,
        "narrow: start is an integer tensor without dims, not {} of {} dims",
        start.dtype,
        start.dim(),
    )
    return x.narrow(dim, int(start), length)
