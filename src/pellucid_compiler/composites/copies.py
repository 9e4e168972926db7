"""Copies of views and of parts of tensors. Copies of views that the catalogue declares
are derived from these (``declare/late_forms.py``).
"""

from pellucid_compiler.composites import api, composite, require


def _write_parts(out, parts):
    """Write each part to the tensor at the same position of ``out``."""
    require(
        len(out) == len(parts),
        "out= has {} tensors for {} parts: give one for each",
        len(out),
        len(parts),
    )
    for destination, part in zip(out, parts, strict=True):
        require(
            not (destination.requires_grad or part.requires_grad),
            "with out=, gradients cannot be recorded, but a tensor requires them.\n"
            "Leave out= away, call under torch.no_grad(), or detach the tensors.",
        )
        if destination.shape != part.shape:
            destination.resize_(part.shape)
        destination.copy_(part)


def _end(shape, strides, offset):
    """One past the last place of a view's elements in memory."""
    if 0 in shape:
        return offset
    steps = zip(shape, strides, strict=True)
    return offset + 1 + sum((size - 1) * stride for size, stride in steps)


def _copies(parts):
    return [part.clone() for part in parts]


@composite(
    "detach_copy(Tensor self) -> Tensor",
    out=True,
    method=False,
    seen=True,
    tags="view_copy",
    casts_out=False,
)
@composite("lift(Tensor self) -> Tensor", out=True, method=False, function=False)
@composite(
    "lift_fresh_copy(Tensor self) -> Tensor",
    out=True,
    method=False,
    function=False,
    tags="view_copy",
    casts_out=False,
)
def detach_copy(x):
    """A copy of the elements, without history."""
    return x.detach().clone()


@composite(
    "_conj_copy(Tensor self) -> Tensor",
    out=True,
    method=False,
    seen=True,
    tags="view_copy",
)
def conj_copy(x):
    """The complex conjugates, computed."""
    return x._conj_physical()


@composite(
    "_neg_view_copy(Tensor self) -> Tensor",
    out=True,
    method=False,
    seen=True,
    tags="view_copy",
)
def neg_view_copy(x):
    """The negatives, computed."""
    return x.neg()


@composite(
    "lift_fresh(Tensor(a) self) -> Tensor(a)", method=False, function=False, seen=True
)
def lift_fresh(x):
    """The tensor itself: no level wraps a new tensor."""
    return x


@composite(
    "view_copy.dtype(Tensor self, ScalarType dtype) -> Tensor",
    out="dtype_out",
    method=False,
    seen=True,
    tags="view_copy",
    casts_out=False,
)
def view_copy(x, dtype):
    """The memory read as another dtype, copied."""
    return x.view(dtype).clone()


@composite(
    "view_copy(Tensor self, SymInt[] size) -> Tensor",
    out=True,
    method=False,
    seen=True,
    tags="view_copy",
    casts_out=False,
)
def reshape_copy(x, size):
    """The elements, row by row, in another shape and in new memory."""
    return x.clone(memory_format=api.contiguous_format).view(size)


@composite(
    "as_strided_copy(Tensor self, SymInt[] size, SymInt[] stride, "
    "SymInt? storage_offset=None) -> Tensor",
    out=True,
    method=False,
    seen=True,
    tags="view_copy",
    casts_out=False,
)
def as_strided_copy(x, size, stride, storage_offset):
    """A copy of ``as_strided``."""
    return x.as_strided(size, stride, storage_offset).clone()


@composite(
    "as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, "
    "SymInt? storage_offset=None) -> Tensor",
    out=True,
    seen=True,
)
def as_strided_scatter(x, src, size, stride, storage_offset):
    """A copy with ``src`` where ``as_strided`` reads. It has the strides and the offset
    of ``x`` unless ``x`` shows an element twice.
    """
    sizes = zip(x.shape, x.stride(), strict=True)
    if any(stride == 0 and n > 1 for n, stride in sizes):
        copy = x.clone()
        copy.as_strided(size, stride, storage_offset).copy_(src)
        return copy
    start = x.storage_offset()
    offset = start if storage_offset is None else storage_offset
    end = max(_end(x.shape, x.stride(), start), _end(size, stride, offset))
    memory = x.as_strided([end], [1], 0).clone()
    memory.as_strided(size, stride, offset).copy_(src)
    return memory.as_strided(x.shape, x.stride(), start)


@composite(
    "split_copy.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]",
    method=False,
    seen=True,
    tags="view_copy",
)
@composite("unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]")
def split_copy(x, split_size, dim):
    """``split`` with copies of the parts."""
    return _copies(x.split(split_size, dim))


@composite(
    "split_copy.Tensor_out(Tensor self, SymInt split_size, int dim=0, *, "
    "Tensor(a!)[] out) -> ()",
    method=False,
)
@composite(
    "unsafe_split.Tensor_out(Tensor self, SymInt split_size, int dim=0, *, "
    "Tensor(a!)[] out) -> ()",
    method=False,
    function=False,
)
def split_into(x, split_size, dim, *, out):
    """``split`` into the tensors of ``out``."""
    _write_parts(out, x.split(split_size, dim))


@composite(
    "split_with_sizes_copy(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]",
    method=False,
    seen=True,
    tags="view_copy",
)
@composite(
    "unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]"
)
def split_with_sizes_copy(x, split_sizes, dim):
    """Copies of the parts of the given sizes."""
    return _copies(x.split(split_sizes, dim))


@composite(
    "split_with_sizes_copy.out(Tensor self, SymInt[] split_sizes, int dim=0, *, "
    "Tensor(a!)[] out) -> ()",
    method=False,
)
@composite(
    "unsafe_split_with_sizes.out(Tensor self, SymInt[] split_sizes, int dim=0, *, "
    "Tensor(a!)[] out) -> ()",
    method=False,
    function=False,
)
def split_with_sizes_into(x, split_sizes, dim, *, out):
    """``split`` into parts of the given sizes, written to the tensors of ``out``."""
    _write_parts(out, x.split(split_sizes, dim))


@composite(
    "unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]",
    tags="maybe_aliasing_or_mutating",
)
def unsafe_chunk(x, chunks, dim):
    """``chunk`` whose parts may be changed in place."""
    return _copies(x.chunk(chunks, dim))


@composite(
    "unbind_copy.int(Tensor self, int dim=0) -> Tensor[]",
    method=False,
    seen=True,
    tags="view_copy",
)
def unbind_copy(x, dim):
    """``unbind`` with copies of the slices."""
    return _copies(x.unbind(dim))


@composite(
    "unbind_copy.int_out(Tensor self, int dim=0, *, Tensor(a!)[] out) -> ()",
    method=False,
)
def unbind_into(x, dim, *, out):
    """``unbind`` into the tensors of ``out``."""
    _write_parts(out, x.unbind(dim))
