"""Conversions of the indices of sparse matrices between COO and CSR.

Graph libraries call these on tensors of indices, without sparse tensors.
"""

from pellucid_compiler.composites import api, composite, require


@composite(
    "_convert_indices_from_coo_to_csr(Tensor self, int size, *, bool out_int32=False) "
    "-> Tensor",
    method=False,
    out=True,
)
def _convert_indices_from_coo_to_csr(rows, size, *, out_int32):
    """The row pointers: where each of ``size`` rows begins, and the end of the last."""
    name = "_convert_indices_from_coo_to_csr"
    require(
        rows.dim() == 1,
        "Input is supposed to be a vector, but got {} dimensional tensor.",
        rows.dim(),
    )
    _require_indices(name, rows)
    borders = api.arange(size + 1, dtype=rows.dtype, device=rows.device)
    return api.searchsorted(rows, borders, out_int32=out_int32)


@composite(
    "_convert_indices_from_csr_to_coo(Tensor crow_indices, Tensor col_indices, *, bool "
    "out_int32=False, bool transpose=False) -> Tensor",
    method=False,
    out=True,
)
def _convert_indices_from_csr_to_coo(crow, columns, *, out_int32, transpose):
    """The indices of every element: of batch dims, its row, its column."""
    name = "_convert_indices_from_csr_to_coo"
    _require_indices(name, crow)
    _require_indices(name, columns)
    require(
        crow.dim() >= 1 and crow.shape[:-1] == columns.shape[:-1],
        "{}: crow_indices and col_indices are supposed to have the same dimensionality "
        "and batches; their shapes are {} and {}",
        *(name, tuple(crow.shape), tuple(columns.shape)),
    )
    count, batch = columns.shape[-1], columns.shape[:-1]
    places = api.arange(count, dtype=crow.dtype, device=crow.device)
    places = places.expand(columns.shape).contiguous()
    rows = api.searchsorted(crow[..., 1:].contiguous(), places, right=True)
    last = [columns, rows] if transpose else [rows, columns]
    first = [
        api.arange(size, device=crow.device)
        .reshape(size, *[1] * (columns.dim() - dim - 1))
        .expand(columns.shape)
        for dim, size in enumerate(batch)
    ]
    dtype = api.int32 if out_int32 else api.int64
    return api.stack([x.reshape(-1).to(dtype) for x in (*first, *last)])


def _require_indices(name, x):
    require(
        x.dtype in (api.int32, api.int64),
        "{}: indices are int32 or int64, not {}",
        *(name, x.dtype),
        error=NotImplementedError,
    )


@composite(
    "_sparse_addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, "
    "Scalar alpha=1) -> Tensor",
    method=False,
    function=False,
)
def _sparse_addmm(x, mat1, mat2, *, beta, alpha):
    """``addmm``, of which ``mat1`` may be sparse."""
    return api.addmm(x, mat1, mat2, beta=beta, alpha=alpha)


@composite(
    "_sparse_mm_reduce_impl(Tensor self, Tensor other, str reduce) -> (Tensor, Tensor)",
    method=False,
    function=False,
)
def _sparse_mm_reduce_impl(x, other, reduce):
    """``sparse.mm`` of a CSR and a strided matrix, where ``reduce`` is "sum", "mean",
    "amax" or "amin"; and no indices, since gradients need none.
    """
    return api.sparse.mm(x, other, reduce), api.empty(0, dtype=api.int64)
