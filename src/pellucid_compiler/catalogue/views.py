"""Views: tensors that share the memory of another one.

A view is a loop whose body loads one element at an affine index. The result's sizes,
strides and offset are derived from that index, and so is the gradient.
"""

from pellucid_compiler.composites import api
from pellucid_compiler.declare import (
    ask,
    broadcast_element,
    maximum,
    minimum,
    num_elements,
    permute,
    require,
    reshape,
    sizes_text,
    squeeze_dims,
    tabulate,
    transpose_last,
    unsqueeze,
    view,
    wrap_dim,
    wrap_dims,
    wrap_index,
)

_LAST = 2**63 - 1  # as the end of a slice: PyTorch's number for none


@view("alias(Tensor(a) self) -> Tensor(a)", method=False, function=False, core=True)
def alias(x):
    """The tensor itself, as a new tensor of the same memory."""
    return tabulate(x.shape, lambda *p: x[p])


@view("view(Tensor(a) self, SymInt[] size) -> Tensor(a)", function=False, core=True)
def view_op(x, size):
    """The elements in row-major order under another shape, without a copy.

    One size may be -1: it follows from the others.
    """
    return reshape(x, inferred_size(x, size))


view_op.gradients_seen_as(self=lambda grad, size: grad.reshape(size))


def inferred_size(x, size):
    """``size`` with a -1 replaced by the size that follows from the others."""
    size = list(size)
    unknown = [k for k, n in enumerate(size) if ask(n == -1)]
    require(
        len(unknown) <= 1,
        "only one size can be -1: the others must be given",
    )
    known = 1
    for k, n in enumerate(size):
        if k not in unknown:
            require(n >= 0, "the size {} is negative: only -1 may be left out", n)
            known = known * n
    total, sizes = num_elements(x), list(size)
    shape = f"[{', '.join(['{}'] * len(size))}]"
    if unknown:
        require(
            (known != 0) & (total % maximum(known, 1) == 0),
            f"shape '{shape}' is invalid for input of size {{}}: {{}}, the product of "
            "the known sizes, does not divide it",
            *(*sizes, total, known),
        )
        size[unknown[0]] = total // maximum(known, 1)
    else:
        require(
            known == total,
            f"shape '{shape}' is invalid for input of size {{}}: the products of the "
            "sizes must agree",
            *(*sizes, total),
        )
    return size


@view(
    "t(Tensor(a) self) -> Tensor(a)",
    inplace=True,
    backward="t",
)
def t(x):
    """The transpose of a matrix; vectors and scalars are unchanged."""
    require(x.rank <= 2, f"t() takes at most 2 dimensions, not {x.rank}: use .mT")
    return transpose_last(x) if x.rank == 2 else alias(x)


@view(
    "transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
    inplace=True,
    backward="transpose.int",
)
def transpose(x, dim0, dim1):
    """A view with two dims swapped."""
    first, second = wrap_dim(dim0, x.rank), wrap_dim(dim1, x.rank)
    order = list(range(x.rank))
    if x.rank:
        order[first], order[second] = second, first
    return permute(x, order)


@view("permute(Tensor(a) self, int[] dims) -> Tensor(a)", core=True)
def permute_op(x, dims):
    """A view with the dims in another order: dim k of the result is ``dims[k]``."""
    require(
        len(dims) == x.rank,
        f"permute of a tensor of rank {x.rank} was given {len(dims)} dims",
    )
    order = [wrap_dim(d, x.rank) for d in dims]
    require(
        len(set(order)) == len(order),
        f"permute was given {list(dims)}: each dim must occur once",
    )
    return permute(x, order)


@view(
    "expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)",
    function=False,
    core=True,
)
def expand(x, size, implicit):
    """Dims of size 1 repeated without copying; -1 keeps a size."""
    added = len(size) - x.rank
    require(
        added >= 0,
        f"expand to {len(size)} sizes: the tensor has rank {x.rank}: give a "
        "size for each of its dims",
    )
    shape = []
    for k, n in enumerate(size):
        own = x.shape[k - added] if k >= added else None
        if ask(n == -1):
            require(own is not None, "expand: -1 is not allowed for a new dim")
            shape.append(own)
        elif own is not None and not ask(own == 1):
            require(
                n == own,
                "The expanded size of the tensor ({}) must match the existing size "
                f"({{}}) at non-singleton dimension {k}: expand() repeats sizes of 1",
                n,
                own,
            )
            shape.append(own)
        else:
            require(n >= 0, "expand: the size {} is negative", n)
            shape.append(n)
    return tabulate(shape, lambda *p: broadcast_element(x, p, shape))


@view(
    "select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)",
    backward="select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, "
    "SymInt index) -> Tensor",
    backward_reads="input_sizes=sizes(self)",
    backward_out="out",
    core=True,
)
def select_op(x, dim, index):
    """The slice at ``index`` of ``dim``, without that dim."""
    require(
        x.rank > 0,
        "select() was called on a tensor of rank 0, which has no dim: use item()",
        error=IndexError,
    )
    dim = wrap_dim(dim, x.rank)
    size = x.shape[dim]
    require(
        (index >= -size) & (index < size),
        f"select(): index {{}} out of range for tensor of size {sizes_text(x)} at "
        f"dimension {dim}",
        *(index, *x.shape),
        error=IndexError,
    )
    place = wrap_index(index, size)
    shape = [n for d, n in enumerate(x.shape) if d != dim]
    return tabulate(shape, lambda *p: x[[*p[:dim], place, *p[dim:]]])


@view(
    "slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, "
    "SymInt step=1) -> Tensor(a)",
    method=False,
    function=False,
    backward="slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, "
    "SymInt start, SymInt end, SymInt step) -> Tensor",
    backward_reads="input_sizes=sizes(self), start=known(start, 0), "
    f"end=known(end, {_LAST})",
    backward_out="out",
    core=True,
)
def slice_op(x, dim, start, end, step):
    """``x[start:end:step]`` along ``dim``, with Python's clipping of the bounds."""
    require(x.rank > 0, "a tensor of rank 0 cannot be sliced", error=IndexError)
    require(step > 0, "slice step must be positive, not {}", step, error=ValueError)
    dim = wrap_dim(dim, x.rank)
    size = x.shape[dim]
    first = 0 if start is None else _clipped(start, size)
    last = size if end is None else _clipped(end, size)
    length = maximum((last - first + step - 1) // step, 0)
    return _strided(x, dim, first, length, step)


def _clipped(bound, size):
    return minimum(maximum(wrap_index(bound, size), 0), size)


def _strided(x, dim, first, length, step):
    shape = [*x.shape[:dim], length, *x.shape[dim + 1 :]]
    return tabulate(
        shape, lambda *p: x[[*p[:dim], p[dim] * step + first, *p[dim + 1 :]]]
    )


@view(
    "narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)",
    node="SliceBackward0",
    copy_method=True,
)
def narrow(x, dim, start, length):
    """``length`` slices of ``dim`` from ``start`` on."""
    require(x.rank > 0, "narrow() cannot be applied to a tensor of rank 0")
    dim = wrap_dim(dim, x.rank)
    size = x.shape[dim]
    require(length >= 0, "narrow(): length {} is negative", length)
    require(
        (start >= -size) & (start <= size),
        "start {} is out of bounds for a dim of size {}",
        start,
        size,
        error=IndexError,
    )
    first = wrap_index(start, size)
    require(
        first + length <= size,
        "start ({}) + length ({}) exceeds dimension size ({}).",
        start,
        length,
        size,
    )
    return _strided(x, dim, first, length, 1)


def _seen_of_piece(grad, size, dim, start):
    first = start % size[dim] if start < 0 else start
    stop = first + grad.shape[dim]
    return api.ops.aten.slice_backward(grad, size, dim, first, stop, 1)


narrow.gradients_seen_as(self=_seen_of_piece)


@narrow.seen_as
def _(x, dim, start, length):
    if not x.dim() or not -x.dim() <= dim < x.dim():
        return NotImplemented
    size = x.shape[dim]
    first = start + size if start < 0 else start
    if length < 0 or first < 0 or first + length > size:
        return NotImplemented
    return api.ops.aten.slice.Tensor(x, dim, first, first + length)


@view("unsqueeze(Tensor(a) self, int dim) -> Tensor(a)", inplace=True, core=True)
def unsqueeze_op(x, dim):
    """A view with a new dim of size 1."""
    return unsqueeze(x, wrap_dim(dim, x.rank + 1))


@view("squeeze(Tensor(a) self) -> Tensor(a)", inplace=True)
def squeeze(x):
    """A view without the dims of size 1."""
    return squeeze_dims(x, [d for d, n in enumerate(x.shape) if ask(n == 1)])


@view(
    "squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)",
    inplace=True,
    node="SqueezeBackward1",
    core=True,
)
def squeeze_dim(x, dim):
    """A view without ``dim``, if its size is 1."""
    return squeeze_given(x, [dim])


@view(
    "squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)",
    inplace=True,
    node="SqueezeBackward2",
    core=True,
)
def squeeze_given(x, dim):
    """A view without those of the given dims whose size is 1."""
    wrapped = wrap_dims(dim, x.rank) if dim else []
    return squeeze_dims(x, [d for d in wrapped if ask(x.shape[d] == 1)])


@view(
    "diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)",
    backward="diagonal_backward(Tensor grad_output, SymInt[] input_sizes, int offset, "
    "int dim1, int dim2) -> Tensor",
    backward_reads="input_sizes=sizes(self)",
    backward_out="out",
    core=True,
)
def diagonal(x, offset, dim1, dim2):
    """The elements whose indices differ by ``offset`` in two dims, as the last dim."""
    first, second = wrap_dim(dim1, x.rank), wrap_dim(dim2, x.rank)
    require(
        first != second,
        f"diagonal: the dims {dim1} and {dim2} are the same",
    )
    down, right = max(-offset, 0), max(offset, 0)
    length = maximum(minimum(x.shape[first] - down, x.shape[second] - right), 0)
    others = [d for d in range(x.rank) if d not in (first, second)]

    def element(*p):
        place = dict(zip(others, p, strict=False))
        place[first], place[second] = p[-1] + down, p[-1] + right
        return x[[place[d] for d in range(x.rank)]]

    return tabulate([*(x.shape[d] for d in others), length], element)


@view(
    "unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)",
    function=False,
    backward="unfold_backward(Tensor grad_in, SymInt[] input_sizes, int dim, int "
    "size, int step) -> Tensor",
    backward_reads="input_sizes=sizes(self), dim=dimension",
    backward_out="out",
    symbolic=("size", "step"),
)
def unfold(x, dimension, size, step):
    """All windows of ``size`` elements, ``step`` apart; a window is the last dim."""
    dim = wrap_dim(dimension, x.rank)
    extent = x.shape[dim] if x.rank else 1
    require(
        (size >= 0) & (size <= extent),
        "unfold: a window of {} elements in a dim of size {}",
        size,
        extent,
    )
    require(step > 0, "unfold: step {} must be positive", step)
    if not x.rank:
        return tabulate([size], lambda i: x[()])
    count = (extent - size) // step + 1
    shape = [*x.shape[:dim], count, *x.shape[dim + 1 :], size]
    return tabulate(
        shape,
        lambda *p: x[[*p[:dim], p[dim] * step + p[-1], *p[dim + 1 : -1]]],
    )
