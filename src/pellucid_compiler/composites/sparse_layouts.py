"""Sparse tensors: construction, conversion from dense tensors, and between layouts.

Implemented in ``pellucid/sparse/_ops``: ``construct.py``, ``methods.py``.
"""

from pellucid_compiler.composites import api, composite, framework_module, require

_SEEN = {"seen": True, "takes_parts": True}
_METHOD = {"function": False, **_SEEN}
_FUNCTION = {"method": False, **_SEEN}
_IN_OPS = {"method": False, "function": False, **_SEEN}
_CALLER = {"function": False, "takes_parts": True}


def _construct():
    return framework_module("sparse._ops.construct")


def _methods():
    return framework_module("sparse._ops.methods")


# ------------------------------------------------------------------ construction

_KIND = "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
_OPTIONS = f"{_KIND}bool? pin_memory=False) -> Tensor"
_COO_OPTIONS = f"{_KIND}bool? pin_memory=None, bool? is_coalesced=None) -> Tensor"
_DIMS = "int sparse_dim, int dense_dim, SymInt[] size, Tensor indices, Tensor values"


@composite(f"sparse_coo_tensor.size(int[] size, {_OPTIONS}", **_IN_OPS)
def sparse_coo_tensor_of_size(size, *, dtype, layout, device, pin_memory):
    """A COO tensor without elements."""
    _construct().require_no_pins(pin_memory)
    return _construct().empty_coo(size, dtype, device)


@composite(
    "sparse_coo_tensor.size_out(int[] size, *, Tensor(a!) out) -> Tensor(a!)",
    **_IN_OPS,
)
def sparse_coo_tensor_into(size, *, out):
    """``out`` without elements."""
    empty = _construct().empty_coo(size, out.dtype, out.device)
    return framework_module("sparse._ops.writes").write(out, empty, "sparse_coo_tensor")


@composite(
    f"sparse_coo_tensor.indices(Tensor indices, Tensor values, {_COO_OPTIONS}",
    method=False,
    function=False,
)
@composite(
    "sparse_coo_tensor.indices_size(Tensor indices, Tensor values, int[] size, "
    f"{_COO_OPTIONS}",
    method=False,
    function=False,
)
def sparse_coo_tensor(
    indices,
    values,
    size=None,
    *,
    dtype,
    layout,
    device,
    pin_memory,
    is_coalesced,
):
    """A COO tensor with ``values[k]`` at ``indices[:, k]``, of the smallest size that
    holds them unless one is given.
    """
    _construct().require_no_pins(pin_memory)
    values = values.to(dtype=dtype or values.dtype, device=device or values.device)
    size, is_coalesced = _construct().checked_coo(indices, values, size, is_coalesced)
    dims = indices.shape[0], values.dim() - 1
    return api.ops.aten._sparse_coo_tensor_with_dims_and_tensors(
        *(*dims, size, indices, values),
        dtype=values.dtype,
        layout=api.sparse_coo,
        device=values.device,
        is_coalesced=is_coalesced,
    )


@composite(
    f"_sparse_coo_tensor_with_dims_and_tensors({_DIMS}, {_KIND}"
    "bool? pin_memory=False, bool? is_coalesced=None) -> Tensor",
    **_IN_OPS,
)
def _sparse_coo_tensor_with_dims_and_tensors(
    sparse_dim, dense_dim, size, indices, values, *, is_coalesced, **options
):
    """A COO tensor of consistent indices and values."""
    make = framework_module("sparse._ops.parts").coo
    return make(indices, values, tuple(size), bool(is_coalesced))


_COMPRESSED = "Tensor compressed_indices, Tensor plain_indices, Tensor values"


@composite(
    f"sparse_compressed_tensor.comp_plain_value({_COMPRESSED}, {_OPTIONS}", **_IN_OPS
)
@composite(
    f"sparse_compressed_tensor.comp_plain_value_size({_COMPRESSED}, SymInt[] size, "
    f"{_OPTIONS}",
    **_IN_OPS,
)
def sparse_compressed_tensor(
    pointers, plain, values, size=None, *, dtype, layout, device, pin_memory
):
    """A tensor of the ``layout`` CSR, CSC, BSR or BSC, of the smallest size that holds
    its elements unless one is given.
    """
    _construct().require_no_pins(pin_memory)
    values = values.to(dtype=dtype or values.dtype, device=device or values.device)
    return _construct().compressed(pointers, plain, values, size, layout)


def _declare_compressed(kind, of_rows):
    """``sparse_csr_tensor`` and the like, compressed by rows or by columns."""
    pointers, plain = ("crow", "col") if of_rows else ("ccol", "row")
    own = f"sparse_{kind}"
    head = f"{own}_tensor.{pointers}_{plain}_value"
    parts = f"Tensor {pointers}_indices, Tensor {plain}_indices, Tensor values"

    def make(pointers, plain, values, size=None, *, layout, **options):
        wanted = getattr(api, own)
        require(
            layout is None or layout is wanted,
            f"{own}_tensor: the layout is {own}, not {{}}",
            layout,
        )
        components = (pointers, plain, values) if size is None else (
            pointers, plain, values, size
        )  # fmt: skip
        op = api.ops.aten.sparse_compressed_tensor
        return op(*components, layout=wanted, **options)

    make.__doc__ = f"``sparse_compressed_tensor`` of the layout {own}."
    make.__name__ = make.__qualname__ = f"{own}_tensor"
    with_size = composite(
        f"{head}_size({parts}, int[] size, {_OPTIONS}", method=False, function=False
    )
    return composite(f"{head}({parts}, {_OPTIONS}", method=False, function=False)(
        with_size(make)
    )


sparse_csr_tensor = _declare_compressed("csr", True)
sparse_csc_tensor = _declare_compressed("csc", False)
sparse_bsr_tensor = _declare_compressed("bsr", True)
sparse_bsc_tensor = _declare_compressed("bsc", False)


# ------------------------------------------------------------------ from dense tensors

_LAYOUT = "*, Layout? layout=None, int[2]? blocksize=None, int? dense_dim=None"
_BLOCKS = "int[2] blocksize, int? dense_dim=None"


@composite(f"to_sparse(Tensor self, {_LAYOUT}) -> Tensor", **_CALLER)
def to_sparse(x, *, layout, blocksize, dense_dim):
    """A sparse tensor of the nonzero elements: COO unless ``layout`` says otherwise;
    other layouts take ``blocksize`` and ``dense_dim``. A sparse tensor is converted to
    the layout.
    """
    if x.layout is (layout or api.sparse_coo) and blocksize is None:
        return x
    return x._to_sparse(layout=layout, blocksize=blocksize, dense_dim=dense_dim)


@composite("to_sparse.sparse_dim(Tensor self, int sparse_dim) -> Tensor", **_CALLER)
def to_sparse_dims(x, sparse_dim):
    """A COO tensor of the nonzero elements, with this number of sparse dims."""
    return x._to_sparse(sparse_dim)


@composite(f"_to_sparse(Tensor self, {_LAYOUT}) -> Tensor", **_METHOD)
def _to_sparse(x, *, layout, blocksize, dense_dim):
    """``to_sparse``."""
    return _methods().to_sparse(x, layout, blocksize, dense_dim)


@composite("_to_sparse.sparse_dim(Tensor self, int sparse_dim) -> Tensor", **_METHOD)
def _to_sparse_dims(x, sparse_dim):
    """``to_sparse.sparse_dim``."""
    return _methods().to_coo(x, sparse_dim)


def _declare_conversion(kind, blocked):
    """``to_sparse_csr`` and the like, and the op that dispatch modes see."""
    name, arguments = f"to_sparse_{kind}", _BLOCKS if blocked else "int? dense_dim=None"

    def seen(x, *arguments):
        blocksize, dense_dim = arguments if blocked else (None, *arguments)
        layout = getattr(api, f"sparse_{kind}")
        return _methods().to_compressed(x, layout, blocksize, dense_dim)

    def convert(x, *arguments):
        return getattr(x, f"_{name}")(*arguments)

    seen.__name__, convert.__name__ = f"_{name}", name
    seen.__doc__ = convert.__doc__ = f"In the layout sparse_{kind}."
    schema = f"(Tensor self, {arguments}) -> Tensor"
    return (
        composite(f"_{name}{schema}", **_METHOD)(seen),
        composite(f"{name}{schema}", **_CALLER)(convert),
    )


_to_sparse_csr, to_sparse_csr = _declare_conversion("csr", False)
_to_sparse_csc, to_sparse_csc = _declare_conversion("csc", False)
_to_sparse_bsr, to_sparse_bsr = _declare_conversion("bsr", True)
_to_sparse_bsc, to_sparse_bsc = _declare_conversion("bsc", True)


@composite("sparse_mask(Tensor self, Tensor mask) -> Tensor", **_METHOD)
def sparse_mask(x, mask):
    """The elements of this tensor at the pattern of the sparse tensor ``mask``."""
    return _methods().sparse_mask(x, mask)


@composite(
    "sparse_mask.out(Tensor self, Tensor mask, *, Tensor(a!) out) -> Tensor(a!)",
    **_IN_OPS,
)
def sparse_mask_into(x, mask, *, out):
    """The elements at the pattern of ``mask``, written to ``out``."""
    return framework_module("sparse._ops.writes").write(
        out, sparse_mask(x, mask), "sparse_mask"
    )


# ------------------------------------------------------------------ to dense tensors

_MASKED = "bool? masked_grad=None"


@composite(
    f"to_dense(Tensor self, ScalarType? dtype=None, *, {_MASKED}) -> Tensor", **_CALLER
)
def to_dense(x, dtype, *, masked_grad):
    """A strided tensor of all elements. Gradients of a sparse tensor have its pattern;
    ``masked_grad=False``, for dense gradients, is not supported.
    """
    if x.layout in (api.strided, api.jagged):
        return x if dtype is None else x.to(dtype)
    return x._to_dense(dtype, masked_grad)


@composite(
    f"_to_dense(Tensor self, ScalarType? dtype=None, {_MASKED}) -> Tensor", **_METHOD
)
def _to_dense(x, dtype, masked_grad):
    """``to_dense`` of a sparse tensor."""
    return _methods().to_dense(x, dtype, masked_grad)


@composite(
    f"to_dense_backward(Tensor grad, Tensor input, {_MASKED}) -> Tensor",
    method=False,
    function=False,
    takes_parts=True,
)
def to_dense_backward(grad, x, masked_grad):
    """The gradient of ``to_dense``: at the pattern of ``input``, or with
    ``masked_grad=False`` dense.
    """
    if x.layout is api.strided:
        return grad.to(x.dtype)
    if x.layout is not api.sparse_coo:
        return grad.sparse_mask(x)
    if masked_grad is False:
        return grad.to_sparse(x.sparse_dim())
    return grad.sparse_mask(x.coalesce())
