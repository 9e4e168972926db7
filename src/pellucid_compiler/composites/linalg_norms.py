"""Norms of matrices and tensors, also under PyTorch's older names, and ``renorm``.

``linalg.vector_norm`` is a loop (``catalogue/statistics.py``); the others call it or
singular values. Read next: linalg_eigenvalues.py.
"""

import math

from pellucid_compiler.composites import api, composite, require, widened
from pellucid_compiler.composites.views import wrapped_in

_ORDERS = ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf)


@composite(
    "linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], "
    "bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    namespace="linalg",
    out=True,
    casts_out=False,
)
@composite(
    "linalg_matrix_norm.str_ord(Tensor self, str ord='fro', int[] dim=[-2, -1], "
    "bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    namespace="linalg",
    out=True,
    casts_out=False,
)
def matrix_norm(x, ord, dim, keepdim, *, dtype=None):
    """The norm of matrices in two dims.

    ``ord`` is "fro" (root of the sum of squares), "nuc" (sum of the singular values), 2
    or -2 (greatest or least singular value), 1 or -1 (greatest or least absolute sum of
    a column), ``inf`` or ``-inf`` (of a row).
    """
    require(ord in _ORDERS, "linalg.matrix_norm: there is no norm of order {!r}", ord)
    dims = [d % max(x.dim(), 1) for d in dim]
    require(
        x.dim() >= 2 and len(dims) == 2 and dims[0] != dims[1],
        "linalg.matrix_norm: dim {} of a tensor with {} dims is not a pair of dims",
        tuple(dim),
        x.dim(),
    )
    require(
        x.is_floating_point() or x.is_complex(),
        "linalg.matrix_norm takes floating-point or complex numbers, not {}: convert "
        "with .float()",
        x.dtype,
    )
    require(
        dtype is None or api.promote_types(x.dtype, dtype) == dtype,
        "linalg.matrix_norm: {} cannot be converted to {} without narrowing; convert "
        "the input itself",
        x.dtype,
        dtype,
    )
    require(
        dtype is None or dtype.is_complex == x.is_complex(),
        "linalg.matrix_norm: dtype {} does not hold the norms of {}: give a real dtype "
        "for real numbers",
        dtype,
        x.dtype,
    )
    x = x if dtype is None else x.to(dtype)
    if ord == "fro":
        return api.linalg.vector_norm(x, 2, dims, keepdim)
    if ord in ("nuc", 2, -2):
        return _of_singular_values(x, ord, dims, keepdim)
    summed, best = dims if abs(ord) == 1 else dims[::-1]
    sums = x.abs().sum(summed, keepdim=True)
    norms = _greatest(sums, best) if ord > 0 else sums.amin(best, keepdim=True)
    return norms if keepdim else norms.squeeze(sorted(dims))


def _greatest(values, dim):
    """The greatest along a dim, which is retained; 0 if it is empty, as for norms."""
    if not values.shape[dim]:
        return values.sum(dim, keepdim=True)
    return values.amax(dim, keepdim=True)


def _of_singular_values(x, ord, dims, keepdim):
    values = api.linalg.svdvals(x.movedim(dims, [-2, -1]))
    if ord == "nuc":
        norms = values.sum(-1)
    else:
        norms = _greatest(values, -1).squeeze(-1) if ord == 2 else values.amin(-1)
    if keepdim:
        for d in sorted(dims):
            norms = norms.unsqueeze(d)
    return norms


@composite(
    "linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, "
    "*, ScalarType? dtype=None) -> Tensor",
    namespace="linalg",
    out=True,
    casts_out=False,
)
@composite(
    "linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, "
    "*, ScalarType? dtype=None) -> Tensor",
    namespace="linalg",
    out=True,
    casts_out=False,
)
def norm(x, ord, dim, keepdim, *, dtype):
    """A norm of vectors or, for two dims or names like "fro", of matrices.

    Without ``ord`` the root of the sum of squares over ``dim``.
    """
    if ord is None:
        return api.linalg.vector_norm(x, 2, dim, keepdim, dtype=dtype)
    rank = x.dim() if dim is None else len(dim)
    if isinstance(ord, str) or rank == 2:
        require(
            rank == 2,
            "linalg.norm: order {!r} takes a matrix, not {} dims; name two dims",
            ord,
            rank,
        )
        dims = [-2, -1] if dim is None else dim
        return matrix_norm(x, ord, dims, keepdim, dtype=dtype)
    require(
        0 < rank <= 2 or (rank == 0 and dim is not None),
        "linalg.norm: order {!r} takes a vector or matrix, not {} dims; "
        "name one or two dims",
        ord,
        rank,
    )
    return api.linalg.vector_norm(x, ord, dim, keepdim, dtype=dtype)


@composite(
    "linalg__powsum(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, "
    "*, ScalarType? dtype=None) -> Tensor",
    method=False,
    function=False,
    seen=True,
    tags="reduction",
)
def powsum(x, ord, dim, keepdim, *, dtype):
    """The sum of ``|x| ** ord``: a norm without its root."""
    size = (x if dtype is None else x.to(dtype)).abs()
    return size.pow(ord).sum(dim, keepdim)


# Older names


@composite(
    "norm.Scalar(Tensor self, Scalar p=2) -> Tensor",
    out=True,
    seen=True,
    tags="reduction",
)
@composite("native_norm(Tensor self, Scalar p=2) -> Tensor", out=True, method=False)
def norm_of_all(x, p):
    """The norm of all elements."""
    return api.linalg.vector_norm(x, p)


@composite(
    "norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor",
    out=True,
    seen=True,
    tags="reduction",
)
def norm_as(x, p, *, dtype):
    """The norm of all elements, computed in ``dtype``."""
    return api.linalg.vector_norm(x, 2 if p is None else p, dtype=dtype)


@composite(
    "norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) "
    "-> Tensor",
    out="out",
    seen=True,
    tags="reduction",
    casts_out=False,
)
def norm_over(x, p, dim, keepdim):
    """The norm over ``dim``."""
    return api.linalg.vector_norm(x, 2 if p is None else p, dim, keepdim)


@composite(
    "norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, "
    "ScalarType dtype) -> Tensor",
    out="dtype_out",
    seen=True,
    tags="reduction",
    casts_out=False,
)
def norm_over_as(x, p, dim, keepdim, *, dtype):
    """The norm over ``dim``, computed in ``dtype``."""
    order = 2 if p is None else p
    return api.linalg.vector_norm(x, order, dim, keepdim, dtype=dtype)


@composite(
    "native_norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, "
    "bool keepdim, ScalarType? dtype) -> Tensor",
    out=True,
    method=False,
)
def native_norm(x, p, dim, keepdim, dtype):
    """The norm over ``dim``."""
    order = 2 if p is None else p
    return api.linalg.vector_norm(x, order, dim, keepdim, dtype=dtype)


@composite(
    "frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
    out="out",
    method=False,
    casts_out=False,
)
def frobenius_norm(x, dim, keepdim):
    """The root of the sum of squares over ``dim``."""
    require(len(dim) <= 2, "frobenius_norm takes one or two dims, not {}", len(dim))
    return api.linalg.vector_norm(x, 2, dim, keepdim)


@composite(
    "nuclear_norm(Tensor self, bool keepdim=False) -> Tensor",
    out=True,
    method=False,
    casts_out=False,
)
def nuclear_norm(x, keepdim):
    """The sum of a matrix's singular values."""
    return matrix_norm(x, "nuc", [-2, -1], keepdim)


@composite(
    "nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor",
    out="dim_out",
    method=False,
    casts_out=False,
)
def nuclear_norm_over(x, dim, keepdim):
    """The sum of the singular values of the matrices in two dims."""
    return matrix_norm(x, "nuc", dim, keepdim)


@composite("norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor", method=False)
def norm_except_dim(v, pow, dim):
    """The norms of order ``pow`` over all dims except ``dim``, retained with size 1;
    for -1, of the whole tensor.
    """
    require(
        v.is_floating_point() or v.is_complex(),
        "norm_except_dim takes floating-point or complex numbers, not {}",
        v.dtype,
    )
    if dim == -1:
        return api.linalg.vector_norm(v, pow)
    along = wrapped_in(v, dim)
    others = [d for d in range(v.dim()) if d != along]
    if not others:  # an empty list of dims would mean all of them
        return v.abs()
    return api.linalg.vector_norm(v, pow, others, keepdim=True)


@composite(
    "renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor",
    out=True,
    inplace=True,
    seen=True,
    casts_out=False,
)
def renorm(x, p, dim, maxnorm):
    """Slices along ``dim`` whose ``p`` norm exceeds ``maxnorm``, scaled down to it."""
    require(p > 0, "renorm: the order {} is not positive", p)
    require(maxnorm >= 0, "renorm: maxnorm {} is negative", maxnorm)
    require(x.dim() > 1, "renorm takes tensors of 2 or more dims, not {}", x.dim())
    along = wrapped_in(x, dim)
    others = [d for d in range(x.dim()) if d != along]
    wide = widened(x)
    norms = api.linalg.vector_norm(wide, p, others, keepdim=True)
    scales = api.where(norms > maxnorm, maxnorm / (norms + 1e-7), 1.0)
    return (wide * scales).to(x.dtype)
