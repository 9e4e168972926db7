"""Uninitialised tensors, and changes of a tensor's memory: empty, resize, set_."""

from pellucid_compiler.composites import api, composite, framework_module, require

_OPTIONS = (
    "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None"
)
_OUT = "Tensor(a!) out) -> Tensor(a!)"


@composite(
    f"empty.out(SymInt[] size, *, MemoryFormat? memory_format=None, {_OUT}",
    method=False,
)
def empty_into(size, *, memory_format=None, out):
    """``out`` resized; its values are uninitialised."""
    return out.resize_(size, memory_format=memory_format or api.contiguous_format)


@composite(
    f"empty_like.out(Tensor self, *, MemoryFormat? memory_format=None, {_OUT}",
    method=False,
    function=False,
)
def empty_like_into(x, *, memory_format, out):
    """``out`` in the shape of ``x``."""
    return empty_into(x.shape, out=out)


@composite(
    f"new_empty.out(Tensor self, SymInt[] size, *, {_OUT}",
    method=False,
    function=False,
)
def new_empty_into(x, size, *, out):
    """``out`` in these sizes."""
    return empty_into(size, out=out)


@composite(
    f"empty_strided.out(SymInt[] size, SymInt[] stride, *, {_OUT}",
    method=False,
    function=False,
)
def empty_strided_into(size, stride, *, out):
    """``out`` in these sizes, its own strides where they fit."""
    return out if list(out.shape) == size else empty_into(size, out=out)


@composite(
    f"new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, {_OPTIONS}) "
    "-> Tensor",
    function=False,
    seen=True,
)
def new_empty_strided(x, size, stride, *, dtype, device, **options):
    """An uninitialised tensor with these sizes and strides, by default of ``x``'s
    dtype.
    """
    dtype, device = dtype or x.dtype, device or x.device
    return api.empty_strided(size, stride, dtype=dtype, device=device, **options)


@composite(
    "new_empty_strided.out(Tensor self, SymInt[] size, SymInt[] stride, *, " + _OUT,
    method=False,
    function=False,
)
def new_empty_strided_into(x, size, stride, *, out):
    """``out`` in these sizes, its own strides where they fit."""
    return empty_strided_into(size, stride, out=out)


@composite(
    f"empty_permuted(SymInt[] size, int[] physical_layout, {_OPTIONS}) -> Tensor",
    method=False,
    seen=True,
)
def empty_permuted(size, physical_layout, **options):
    """An uninitialised tensor whose dims have the memory order
    ``physical_layout``, the last one densely.
    """
    require(
        sorted(physical_layout) == list(range(len(size))),
        "empty_permuted: {} is not a permutation of {} dims",
        physical_layout,
        len(size),
    )
    dense = api.empty([size[d] for d in physical_layout], **options)
    return dense.permute([physical_layout.index(d) for d in range(len(size))])


@composite(
    f"empty_permuted.out(SymInt[] size, int[] physical_layout, *, {_OUT}",
    method=False,
    function=False,
)
def empty_permuted_into(size, physical_layout, *, out):
    """``out`` in these sizes, its own strides where they fit."""
    return empty_strided_into(size, None, out=out)


# Other sizes and other memory


def _resized(x):
    return x.detach().contiguous().clone()


@composite(
    "resize(Tensor self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor",
    out=True,
    method=False,
    function=False,
    seen=True,
)
def resize(x, size, *, memory_format):
    """The elements under other sizes; additional elements are uninitialised."""
    memory_format = memory_format or api.contiguous_format
    return _resized(x).resize_(size, memory_format=memory_format)


@composite(
    "resize_as(Tensor self, Tensor the_template, *, MemoryFormat? memory_format=None) "
    "-> Tensor",
    out=True,
    method=False,
    function=False,
    seen=True,
)
def resize_as(x, the_template, *, memory_format):
    """The elements under the sizes of another tensor."""
    return resize(x, the_template.shape, memory_format=memory_format)


@composite(
    "set(Tensor self) -> Tensor", out=True, method=False, function=False, seen=True
)
def set_empty(x):
    """An empty tensor of the dtype of ``x``."""
    return x.new_empty(0)


@composite(
    "set.source_Tensor(Tensor self, Tensor source) -> Tensor",
    out="source_Tensor_out",
    method=False,
    function=False,
    seen=True,
)
def set_source(x, source):
    """The functional form of ``x.set_(source)``."""
    return x.detach().clone().set_(source)


@composite(
    "set_.source_Tensor_storage_offset(Tensor(a!) self, Tensor source, "
    "SymInt storage_offset, SymInt[] size, SymInt[] stride=[]) -> Tensor(a!)",
    function=False,
    seen=True,
    tags="inplace_view",
)
def set_part(x, source, storage_offset, size, stride):
    """Makes ``x`` a view of the memory of ``source``; its rows are contiguous unless
    strides are given.
    """
    if not stride:
        stride = api.empty(size, device="meta").stride()
    return x.set_(source.as_strided(size, stride, storage_offset))


@composite(
    "set_.source_Storage(Tensor(a!) self, Storage source) -> Tensor(a!)",
    method=False,
    function=False,
    seen=True,
    tags="inplace_view",
)
@composite(
    "set_.source_Storage_storage_offset(Tensor(a!) self, Storage source, "
    "SymInt storage_offset, SymInt[] size, SymInt[] stride=[]) -> Tensor(a!)",
    method=False,
    function=False,
    seen=True,
    tags="inplace_view",
)
def set_storage(x, source, storage_offset=0, size=None, stride=None):
    """Makes ``x`` a view of a storage, of all its elements unless sizes are given."""
    return x.set_(source, storage_offset, size, stride or None)


@composite(
    "set.source_Storage(Tensor self, Storage source) -> Tensor",
    out="source_Storage_out",
    method=False,
    function=False,
    seen=True,
)
@composite(
    "set.source_Storage_storage_offset(Tensor self, Storage source, "
    "SymInt storage_offset, SymInt[] size, SymInt[] stride=[]) -> Tensor",
    out="source_Storage_storage_offset_out",
    method=False,
    function=False,
    seen=True,
)
def set_to_storage(x, source, storage_offset=0, size=None, stride=None):
    """The functional form of ``x.set_(storage, ...)``."""
    return x.detach().clone().set_(source, storage_offset, size, stride or None)


@composite(
    "slice_inverse(Tensor(a) self, Tensor src, int dim=0, SymInt? start=None, "
    "SymInt? end=None, SymInt step=1) -> Tensor(a)",
    seen=True,
)
def slice_inverse(x, src, dim, start, end, step):
    """The tensor like ``src`` of which ``x`` is a slice."""
    return x.as_strided(src.shape, src.stride(), src.storage_offset())


@composite(
    f"from_file(str filename, bool? shared=None, int? size=0, {_OPTIONS}) -> Tensor",
    forms=(f"from_file.out(str filename, bool? shared=None, int? size=0, *, {_OUT}",),
    method=False,
    seen=True,
)
def from_file(filename, shared, size, *, dtype, **options):
    """``size`` elements of a file. If ``shared``, writes go to the file, which is
    created or extended if necessary.
    """
    dtype = dtype or api.get_default_dtype()
    nbytes = (size or 0) * dtype.itemsize
    if not nbytes:
        return api.empty(0, dtype=dtype)
    storage = api.UntypedStorage.from_file(filename, bool(shared), nbytes)
    return api.empty(0, dtype=dtype).set_(storage, 0, [size], [1])


@composite("record_stream(Tensor(a!) self, Stream s) -> ()", function=False, seen=True)
def record_stream(x, stream):
    """Records that ``stream`` uses the tensor's memory: after it is freed, the memory
    is reused only when the stream's work is done. RuntimeError for a CPU tensor.
    """
    framework_module("_tensor.memory_methods").record_stream(x, stream)
