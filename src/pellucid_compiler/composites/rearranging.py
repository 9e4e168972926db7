"""Elements repeated, reversed and looked up by index."""

from pellucid_compiler.composites import (
    any_true,
    api,
    composite,
    has_values,
    require,
)
from pellucid_compiler.composites.views import wrapped


@composite("tile(Tensor self, SymInt[] dims) -> Tensor")
def tile(x, dims):
    """``repeat``, with missing leading counts taken as 1."""
    return x.repeat([1] * (x.dim() - len(dims)) + dims)


@composite("fliplr(Tensor self) -> Tensor")
def fliplr(x):
    """The second dim backwards."""
    require(x.dim() >= 2, "fliplr takes tensors of 2 dimensions or more")
    return x.flip(1)


@composite("flipud(Tensor self) -> Tensor")
def flipud(x):
    """The first dim backwards."""
    require(x.dim() >= 1, "flipud takes tensors of 1 dimension or more")
    return x.flip(0)


@composite("rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor", out=True)
def rot90(x, k, dims):
    """Rotated ``k`` times by 90 degrees from the first of ``dims`` towards the
    second.
    """
    require(
        len(dims) == 2 and x.dim() >= 2,
        "rot90 rotates in a plane of 2 dims: got dims {} of a tensor of {} dimensions",
        dims,
        x.dim(),
    )
    first, second = (wrapped(d, x.dim()) for d in dims)
    require(first != second, "rot90: the dims {} are the same", dims)
    if k % 4 == 0:
        return x.clone()
    if k % 4 == 2:
        return x.flip(first, second)
    return x.flip(second if k % 4 == 1 else first).transpose_(first, second)


@composite("diagflat(Tensor self, int offset=0) -> Tensor")
def diagflat(x, offset):
    """A matrix with the elements of ``x`` on its diagonal."""
    return x.reshape(-1).diag(offset)


@composite(
    "fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)",
    function=False,
)
def fill_diagonal_(x, fill_value, wrap):
    """``fill_value`` where all indices are equal; a tall matrix continues below the
    square with ``wrap``.
    """
    require(x.dim() >= 2, "a tensor of {} dims has no diagonal to fill", x.dim())
    require(
        x.dim() == 2 or len({*x.shape}) == 1,
        "the sizes of a tensor of more than two dims must be equal to fill "
        "its diagonal, not {}",
        x.shape,
    )
    if wrap and x.dim() == 2 and x.size(0) > x.size(1) + 1:
        width = x.size(1)
        for start in range(0, x.size(0), width + 1):
            rows = x.narrow(0, start, min(width, x.size(0) - start))
            rows.diagonal().fill_(fill_value)
        return x
    diagonal = x
    for _ in range(x.dim() - 1):
        diagonal = diagonal.diagonal(0, 0, 1)
    diagonal.fill_(fill_value)
    return x


@composite("sum_to_size(Tensor self, SymInt[] size) -> Tensor", function=False)
def sum_to_size(x, size):
    """The sum over the dims along which ``size`` broadcasts to the shape of ``x``."""
    added = x.dim() - len(size)
    fits = added >= 0 and all(
        n in (1, have) for n, have in zip(size, x.shape[added:], strict=False)
    )
    require(
        fits,
        "sum_to_size: a tensor of shape {} cannot be summed to {}: give "
        "its sizes, counted from the last, or 1",
        x.shape,
        tuple(size),
    )
    if not size:
        return x.sum()
    summed = [
        d
        for d in range(x.dim())
        if d < added or (size[d - added] == 1 and x.shape[d] != 1)
    ]
    if summed:
        x = x.sum(summed, keepdim=True)
    return x.view(size) if added else x


# Repeats of single slices


@composite(
    "repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor",
    out="Tensor_out",
    method=False,
    tags="dynamic_output_shape",
)
def repeated_places(repeats, *, output_size):
    """Each index, repeated as often as ``repeats`` at that index says."""
    require(
        repeats.dim() == 1,
        "repeat_interleave: the counts are a vector, not of {} dims",
        repeats.dim(),
    )
    require(
        repeats.dtype in (api.int32, api.int64),
        "repeat_interleave: the counts are int32 or int64, not {}",
        repeats.dtype,
        error=NotImplementedError,
    )
    require(not any_true(repeats < 0), "repeat_interleave: a count is negative")
    known = output_size is not None and not has_values(repeats)
    total = output_size if known else int(repeats.sum())
    require(
        output_size in (None, total),
        "repeat_interleave: output_size is {}, but the counts sum to {}",
        output_size,
        total,
    )
    size = repeats.numel()
    starts = repeats.new_zeros(total + 1)
    ones = repeats.new_ones(max(size - 1, 0))
    starts.index_add_(0, repeats.cumsum(0)[:-1], ones)
    return starts[:-1].cumsum(0, dtype=repeats.dtype)


def _along(x, dim):
    return (x.reshape(-1), 0) if dim is None else (x, wrapped(dim, x.dim()))


@composite(
    "repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, "
    "SymInt? output_size=None) -> Tensor"
)
def repeat_interleave(x, repeats, dim, *, output_size):
    """Each slice along ``dim``, repeated as often as ``repeats`` says; without ``dim``,
    each element.
    """
    require(
        repeats.dim() <= 1,
        "repeat_interleave: the counts are a number or a vector, not of {} dims",
        repeats.dim(),
    )
    x, dim = _along(x, dim)
    if repeats.numel() == 1:
        repeats = repeats.reshape(1).expand(x.shape[dim] if x.dim() else 1)
    require(
        not x.dim() or repeats.numel() == x.shape[dim],
        "repeat_interleave: {} counts for {} slices: give one for each",
        repeats.numel(),
        x.shape[dim : dim + 1],
    )
    return x.index_select(dim, repeated_places(repeats, output_size=output_size))


@composite(
    "repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, "
    "SymInt? output_size=None) -> Tensor"
)
def repeat_interleave_evenly(x, repeats, dim, *, output_size):
    """Each slice along ``dim``, repeated ``repeats`` times; without ``dim``, each
    element.
    """
    if repeats < 0:
        raise RuntimeError(f"repeat_interleave: the count {repeats} is negative")
    if dim is not None and x.dim() == 0:
        raise IndexError(
            "repeat_interleave: a tensor without dims has no dim to repeat"
        )
    x, dim = _along(x, dim)
    count = repeats * (x.shape[dim] if x.dim() else 1)
    if output_size is not None:
        require(
            output_size == count,
            "repeat_interleave: output_size is {} for {} slices",
            output_size,
            count,
        )
    places = api.arange(count, device=x.device) // max(repeats, 1)
    return x.index_select(dim, places)


# Indices


@composite("argwhere(Tensor self) -> Tensor", tags="dynamic_output_shape")
def argwhere(x):
    """The indices of the elements that are not zero, one row each."""
    return x.nonzero()


@composite(
    "nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor",
    out=True,
    casts_out=False,
)
def nonzero_static(x, *, size, fill_value):
    """``nonzero`` cropped or padded to ``size`` rows."""
    require(size >= 0, "nonzero_static: size {} is negative", size)
    mask = x.reshape(-1) != 0
    rows = mask.cumsum(0) - 1
    rows = api.where(mask & (rows < size), rows, size)  # omitted elements: past the end
    result = api.full((size + 1, x.dim()), fill_value, dtype=api.int64, device=x.device)
    if x.dim():
        every = api.arange(x.numel(), device=x.device)
        places = api.stack(api.unravel_index(every, x.shape), 1)
        result = result.index_copy(0, rows, places)
    return api.narrow_copy(result, 0, 0, size)


_OPTIONS = (
    "*, ScalarType? dtype=long, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None"
)


def _triangle_places(name, row, col, inside, dtype, device, pin_memory):
    require(
        row >= 0 and col >= 0,
        "{}: the sizes {} and {} must not be negative",
        name,
        row,
        col,
    )
    require(
        dtype in (None, api.int64, api.int32),
        "{}: indices are int64 or int32, not {}",
        name,
        dtype,
        error=NotImplementedError,
    )
    square = api.ones(row, col, dtype=api.bool)
    indices = inside(square).nonzero().t().clone(memory_format=api.contiguous_format)
    found = indices.to(device or "cpu", dtype or api.int64)
    return found.pin_memory() if pin_memory else found


@composite(
    f"tril_indices(int row, int col, int offset=0, {_OPTIONS}) -> Tensor",
    forms=(
        "tril_indices.out(int row, int col, int offset=0, *, Tensor(a!) out) "
        "-> Tensor(a!)",
    ),
    method=False,
)
def tril_indices(row, col, offset, *, dtype, layout, device, pin_memory):
    """Rows and columns of a matrix's elements on and below a diagonal."""

    def inside(square):
        return square.tril(offset)

    return _triangle_places("tril_indices", row, col, inside, dtype, device, pin_memory)


@composite(
    f"triu_indices(int row, int col, int offset=0, {_OPTIONS}) -> Tensor",
    forms=(
        "triu_indices.out(int row, int col, int offset=0, *, Tensor(a!) out) "
        "-> Tensor(a!)",
    ),
    method=False,
)
def triu_indices(row, col, offset, *, dtype, layout, device, pin_memory):
    """Rows and columns of a matrix's elements on and above a diagonal."""

    def inside(square):
        return square.triu(offset)

    return _triangle_places("triu_indices", row, col, inside, dtype, device, pin_memory)
