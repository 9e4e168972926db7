"""Sparse tensors: queries, indices and values, resizing, products.

Implemented in ``pellucid/sparse/_ops``. Read next: sparse_layouts.py.
"""

from pellucid_compiler.composites import api, composite, framework_module

_SEEN = {"seen": True, "takes_parts": True}
_METHOD = {"function": False, **_SEEN}
_FUNCTION = {"method": False, **_SEEN}
_IN_OPS = {"method": False, "function": False, **_SEEN}
_COPY = {**_FUNCTION, "tags": "view_copy", "out": True}


def _methods():
    return framework_module("sparse._ops.methods")


def write_to(out, result, name):
    """``out`` with the elements of ``result``; a sparse one takes its components."""
    return framework_module("sparse._ops.writes").write(out, result, name)


# ------------------------------------------------------------------ queries


@composite("sparse_dim(Tensor self) -> int", **_METHOD)
def sparse_dim(x):
    """The number of sparse dims; 0 if the tensor is strided."""
    return _methods().sparse_dim(x)


@composite("dense_dim(Tensor self) -> int", **_METHOD)
def dense_dim(x):
    """The number of dense dims; all if the tensor is strided."""
    return _methods().dense_dim(x)


@composite("_nnz(Tensor self) -> int", **_METHOD)
def _nnz(x):
    """The number of stored elements (of blocks), per example of a batch."""
    return _methods().nnz(x)


@composite("is_coalesced(Tensor self) -> bool", **_METHOD)
def is_coalesced(x):
    """Whether a COO tensor is known to have sorted, distinct indices."""
    return _methods().is_coalesced(x)


@composite("_coalesced_(Tensor(a!) self, bool coalesced) -> Tensor(a!)", **_METHOD)
def _coalesced_(x, coalesced):
    """Marks a COO tensor's indices as sorted and distinct, or not."""
    return _methods().set_coalesced(x, coalesced)


@composite("coalesce(Tensor(a) self) -> Tensor(a)", function=False, takes_parts=True)
def coalesce(x):
    """A COO tensor with sorted, distinct indices; duplicates are summed."""
    _methods().require_coo("coalesce", x)
    return x if x.is_coalesced() else api._coalesce(x)


@composite("_coalesce(Tensor self) -> Tensor", out=True, **_FUNCTION)
def _coalesce(x):
    """``coalesce``."""
    return _methods().coalesce(x)


# ------------------------------------------------------------------ indices and values


@composite("indices(Tensor(a) self) -> Tensor(a)", **_METHOD)
def indices(x):
    """The indices of a coalesced COO tensor: (sparse dims, elements)."""
    return _methods().indices(x)


@composite("_indices(Tensor(a) self) -> Tensor(a)", **_METHOD)
def _indices(x):
    """The stored indices of a COO tensor: (sparse dims, elements)."""
    return _methods().stored_indices(x)


@composite("values(Tensor(a) self) -> Tensor(a)", **_METHOD)
def values(x):
    """The values of a nested or sparse tensor; gradients pass to it."""
    if x.is_nested:
        return framework_module("nested._ops.methods").values(x)
    return _methods().values(x)


@composite("_values(Tensor(a) self) -> Tensor(a)", **_METHOD)
def _values(x):
    """The stored values of a COO tensor, detached."""
    return _methods().stored_values(x)


@composite("crow_indices(Tensor(a) self) -> Tensor(a)", **_METHOD)
def crow_indices(x):
    """Where each row begins, of a tensor of a row compressed layout."""
    return _methods().crow_indices(x)


@composite("col_indices(Tensor(a) self) -> Tensor(a)", **_METHOD)
def col_indices(x):
    """The columns of the elements, of a tensor of a row compressed layout."""
    return _methods().col_indices(x)


@composite("ccol_indices(Tensor(a) self) -> Tensor(a)", **_METHOD)
def ccol_indices(x):
    """Where each column begins, of a tensor of a column compressed layout."""
    return _methods().ccol_indices(x)


@composite("row_indices(Tensor(a) self) -> Tensor(a)", **_METHOD)
def row_indices(x):
    """The rows of the elements, of a tensor of a column compressed layout."""
    return _methods().row_indices(x)


@composite("indices_copy(Tensor self) -> Tensor", **_COPY)
def indices_copy(x):
    """A copy of ``indices``."""
    return x.indices().clone()


@composite("values_copy(Tensor self) -> Tensor", **_COPY)
def values_copy(x):
    """A copy of ``values``."""
    return x.values().clone()


@composite("crow_indices_copy(Tensor self) -> Tensor", **_COPY)
def crow_indices_copy(x):
    """A copy of ``crow_indices``."""
    return x.crow_indices().clone()


@composite("col_indices_copy(Tensor self) -> Tensor", **_COPY)
def col_indices_copy(x):
    """A copy of ``col_indices``."""
    return x.col_indices().clone()


@composite("ccol_indices_copy(Tensor self) -> Tensor", **_COPY)
def ccol_indices_copy(x):
    """A copy of ``ccol_indices``."""
    return x.ccol_indices().clone()


@composite("row_indices_copy(Tensor self) -> Tensor", **_COPY)
def row_indices_copy(x):
    """A copy of ``row_indices``."""
    return x.row_indices().clone()


# ------------------------------------------------------------------ resizing

_SIZE = "int[] size, int sparse_dim, int dense_dim"
_OUT = "*, Tensor(a!) out) -> Tensor(a!)"


@composite(f"sparse_resize_(Tensor(a!) self, {_SIZE}) -> Tensor(a!)", **_METHOD)
def sparse_resize_(x, size, sparse_dim, dense_dim):
    """Resizes in place, to sizes that contain all elements."""
    return _methods().resized(x, size, sparse_dim, dense_dim, False)


@composite(f"sparse_resize(Tensor self, {_SIZE}) -> Tensor", **_IN_OPS)
def sparse_resize(x, size, sparse_dim, dense_dim):
    """The elements in other sizes, which must contain all of them."""
    return x.detach().clone().sparse_resize_(size, sparse_dim, dense_dim)


@composite(f"sparse_resize.out(Tensor self, {_SIZE}, {_OUT}", **_IN_OPS)
def sparse_resize_into(x, size, sparse_dim, dense_dim, *, out):
    """The elements in other sizes, written to ``out``."""
    resized = sparse_resize(x, size, sparse_dim, dense_dim)
    return write_to(out, resized, "sparse_resize")


@composite(
    f"sparse_resize_and_clear_(Tensor(a!) self, {_SIZE}) -> Tensor(a!)", **_METHOD
)
def sparse_resize_and_clear_(x, size, sparse_dim, dense_dim):
    """Resizes in place, and removes all elements."""
    return _methods().resized(x, size, sparse_dim, dense_dim, True)


@composite(f"sparse_resize_and_clear(Tensor self, {_SIZE}) -> Tensor", **_IN_OPS)
def sparse_resize_and_clear(x, size, sparse_dim, dense_dim):
    """A tensor of these sizes without elements."""
    return x.detach().clone().sparse_resize_and_clear_(size, sparse_dim, dense_dim)


@composite(f"sparse_resize_and_clear.out(Tensor self, {_SIZE}, {_OUT}", **_IN_OPS)
def sparse_resize_and_clear_into(x, size, sparse_dim, dense_dim, *, out):
    """``out`` resized, without elements."""
    resized = sparse_resize_and_clear(x, size, sparse_dim, dense_dim)
    return write_to(out, resized, "sparse_resize_and_clear")


@composite(
    "resize_as_sparse_(Tensor(a!) self, Tensor the_template) -> Tensor(a!)", **_SEEN
)
def resize_as_sparse_(x, the_template):
    """Resizes in place to the sizes and sparse dims of another tensor."""
    return _methods().resize_as(x, the_template)


@composite("resize_as_sparse(Tensor self, Tensor the_template) -> Tensor", **_IN_OPS)
def resize_as_sparse(x, the_template):
    """The elements in the sizes and the sparse dims of another tensor."""
    return x.detach().clone().resize_as_sparse_(the_template)


@composite(f"resize_as_sparse.out(Tensor self, Tensor the_template, {_OUT}", **_IN_OPS)
def resize_as_sparse_into(x, the_template, *, out):
    """The elements in the sizes of another tensor, written to ``out``."""
    return write_to(out, resize_as_sparse(x, the_template), "resize_as_sparse")


_SOURCE = "Tensor src, bool non_blocking=False"


@composite(
    f"copy_sparse_to_sparse_(Tensor(a!) self, {_SOURCE}) -> Tensor(a!)", **_IN_OPS
)
def copy_sparse_to_sparse_(x, src, non_blocking):
    """``copy_`` of one sparse tensor into another."""
    return x.copy_(src, non_blocking)


@composite(f"copy_sparse_to_sparse(Tensor self, {_SOURCE}) -> Tensor", **_IN_OPS)
def copy_sparse_to_sparse(x, src, non_blocking):
    """The result of ``x.copy_(src)``, in a new tensor."""
    return x.detach().clone().copy_(src, non_blocking)


@composite(f"copy_sparse_to_sparse.out(Tensor self, {_SOURCE}, {_OUT}", **_IN_OPS)
def copy_sparse_to_sparse_into(x, src, non_blocking, *, out):
    """The result of ``x.copy_(src)``, written to ``out``."""
    return write_to(out, copy_sparse_to_sparse(x, src, non_blocking), "copy")


# ------------------------------------------------------------------ products

_FACTORS = "Tensor mat1, Tensor mat2"
_SUM = f"Tensor self, {_FACTORS}, *, Scalar beta=1, Scalar alpha=1"


@composite(f"hspmm({_FACTORS}) -> Tensor", **_FUNCTION)
def hspmm(mat1, mat2):
    """The product with a dense matrix, as a hybrid tensor of rows."""
    _methods().require_coo("hspmm", mat1)
    return mat1.mm(mat2).to_sparse(1)


@composite(f"hspmm.out({_FACTORS}, {_OUT}", **_FUNCTION)
def hspmm_into(mat1, mat2, *, out):
    """The product with a dense matrix, its rows in ``out``."""
    return write_to(out, hspmm(mat1, mat2), "hspmm")


@composite("smm(Tensor self, Tensor mat2) -> Tensor", takes_parts=True)
def smm(x, mat2):
    """The product with a dense matrix, as a sparse tensor."""
    _methods().require_coo("smm", x)
    return x.mm(mat2).to_sparse(2)


@composite(f"sspaddmm({_SUM}) -> Tensor", takes_parts=True)
def sspaddmm(x, mat1, mat2, *, beta, alpha):
    """``beta * self + alpha * (mat1 @ mat2)`` for sparse ``self`` and ``mat1``."""
    _methods().require_coo("sspaddmm", x)
    _methods().require_coo("sspaddmm", mat1)
    return beta * x + mat1.mm(mat2).to_sparse(2) * alpha


@composite(f"sspaddmm.out({_SUM}, Tensor(a!) out) -> Tensor(a!)", **_FUNCTION)
def sspaddmm_into(x, mat1, mat2, *, beta, alpha, out):
    """``sspaddmm`` written to ``out``."""
    result = sspaddmm(x, mat1, mat2, beta=beta, alpha=alpha)
    return write_to(out, result, "sspaddmm")


@composite(f"sparse_sampled_addmm({_SUM}) -> Tensor", namespace="sparse", **_SEEN)
def sparse_sampled_addmm(x, mat1, mat2, *, beta, alpha):
    """``alpha * (mat1 @ mat2)`` at the pattern of ``self``, plus ``beta * self``."""
    sampled_addmm = framework_module("sparse._ops.products").sampled_addmm
    return sampled_addmm(x, mat1, mat2, beta=beta, alpha=alpha)


@composite(
    f"sparse_sampled_addmm.out({_SUM}, Tensor(a!) out) -> Tensor(a!)",
    namespace="sparse",
    **_SEEN,
)
def sparse_sampled_addmm_into(x, mat1, mat2, *, beta, alpha, out):
    """``sparse_sampled_addmm`` written to ``out``."""
    result = sparse_sampled_addmm(x, mat1, mat2, beta=beta, alpha=alpha)
    return write_to(out, result, "sparse_sampled_addmm")


@composite(
    "embedding_sparse_backward(Tensor grad, Tensor indices, int num_weights, "
    "int padding_idx, bool scale_grad_by_freq) -> Tensor",
    method=False,
    function=False,
)
def embedding_sparse_backward(
    grad, indices, num_weights, padding_idx, scale_grad_by_freq
):
    """The gradient of a table: a COO tensor of the rows that were read."""
    gradient = framework_module("sparse._ops.embedding").gradient
    return gradient(grad, indices, num_weights, padding_idx, scale_grad_by_freq)
