"""Factorizations of matrices: Cholesky, LU, LDL and QR.

The routines are declared in ``catalogue/factorizations.py``; these functions raise the
errors that they report. Read next: linalg_eigenvalues.py, linalg_solutions.py.
"""

from pellucid_compiler.composites import api, composite, require
from pellucid_compiler.composites.linalg_checks import (
    INDEFINITE,
    SINGULAR,
    SINGULAR_D,
    check,
    require_matrices,
    require_one_dtype,
    require_pivots,
)

# Cholesky


@composite(
    "linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) "
    "-> (Tensor L, Tensor info)",
    namespace="linalg",
    out="L",
    seen=True,
)
def cholesky_ex(x, *, upper, check_errors):
    """``cholesky`` and, instead of an error, the order of the first minor that is not
    positive definite, or 0.
    """
    factor, info = api._C._pellucid._linalg_cholesky(x.mH if upper else x)
    if check_errors:
        check("cholesky_ex", info, INDEFINITE)
    return factor.mH if upper else factor, info


@composite(
    "linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor",
    namespace="linalg",
    out=True,
    casts_out=False,
)
def cholesky(x, *, upper):
    """The lower triangular ``L`` with ``A = L Lᴴ``; its adjoint with ``upper``.

    ``A`` (..., n, n) is Hermitian and positive definite; ``LinAlgError`` otherwise.

    >>> torch.linalg.cholesky(torch.tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    factor, info = api.linalg.cholesky_ex(x, upper=upper)
    check("cholesky", info, INDEFINITE)
    return factor


# LU


@composite(
    "linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) "
    "-> (Tensor LU, Tensor pivots, Tensor info)",
    namespace="linalg",
    out="out",
    seen=True,
)
def lu_factor_ex(A, *, pivot, check_errors):
    """L and U of ``A = P L U`` in one matrix, the rows exchanged (from 1), and 0 or the
    first zero on the diagonal of U.
    """
    factors = api._C._pellucid._linalg_lu(A, pivot)
    if check_errors:
        check("lu_factor_ex", factors.info, SINGULAR)
    return factors


@composite(
    "linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)",
    namespace="linalg",
    out="out",
)
def lu_factor(A, *, pivot):
    """L and U of ``A = P L U`` in one matrix, and the rows exchanged (from 1)."""
    factors, pivots, info = api.linalg.lu_factor_ex(A, pivot=pivot)
    check("lu_factor", info, SINGULAR)
    return factors, pivots


@composite(
    "linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)",
    namespace="linalg",
    out="out",
    seen=True,
)
def lu(A, *, pivot):
    """``A = P L U``: a permutation, a lower triangle with ones on its diagonal, and an
    upper one. P is empty without ``pivot``.
    """
    factors, pivots, _ = api._C._pellucid._linalg_lu(A, pivot)
    return unpacked(factors, pivots, pivot)


def unpacked(factors, pivots, with_permutation):
    """P, L and U from the results of ``lu_factor``."""
    *_, m, n = factors.shape
    k = min(m, n)
    one = api.eye(m, k, dtype=factors.dtype, device=factors.device)
    lower = factors[..., :k].tril(-1) + one
    permutation = factors.new_empty(0)
    if with_permutation:
        order = api._C._pellucid._linalg_permutation(pivots, m)
        rows = api.arange(m, device=factors.device)
        permutation = (order.unsqueeze(-2) == rows.unsqueeze(-1)).to(factors.dtype)
    return permutation, lower, factors[..., :k, :].triu()


@composite(
    "lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, "
    "bool unpack_pivots=True) -> (Tensor P, Tensor L, Tensor U)",
    out="out",
    method=False,
    seen=True,
)
def lu_unpack(factors, pivots, unpack_data, unpack_pivots):
    """P, L and U from the results of ``lu_factor``; those not requested are empty."""
    require_matrices("lu_unpack", factors)
    require_pivots("lu_unpack", pivots, factors)
    p, lower, upper = unpacked(factors, pivots, unpack_pivots)
    if not unpack_data:
        lower, upper = factors.new_empty(0), factors.new_empty(0)
    return p, lower, upper


# LDL


@composite(
    "linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, "
    "bool check_errors=False) -> (Tensor LD, Tensor pivots, Tensor info)",
    namespace="linalg",
    out="out",
    seen=True,
)
def ldl_factor_ex(x, *, hermitian, check_errors):
    """``ldl_factor`` and, instead of an error, 0 or the first zero on D's diagonal."""
    factors = api._C._pellucid._linalg_ldl(x, hermitian)
    if check_errors:
        check("ldl_factor_ex", factors.info, SINGULAR_D)
    return factors


@composite(
    "linalg_ldl_factor(Tensor self, *, bool hermitian=False) "
    "-> (Tensor LD, Tensor pivots)",
    namespace="linalg",
    out="out",
)
def ldl_factor(x, *, hermitian):
    """L and D of symmetric matrices (..., n, n) in one triangle, and the rows
    exchanged, with repeated negative numbers for blocks of two rows in D.

    The lower triangle is read; complex matrices are Hermitian with ``hermitian``.
    No gradient. ``LinAlgError`` if D has a zero.

    >>> A = torch.tensor([[0.0, 2.0], [2.0, 1.0]])
    >>> torch.linalg.ldl_solve(*torch.linalg.ldl_factor(A), torch.eye(2)) @ A
    tensor([[1., 0.],
            [0., 1.]])
    """
    factors, pivots, info = api.linalg.ldl_factor_ex(x, hermitian=hermitian)
    check("ldl_factor", info, SINGULAR_D)
    return factors, pivots


# QR


@composite(
    "linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)",
    namespace="linalg",
    out="out",
    seen=True,
)
def qr(A, mode):
    """``A = Q R``: orthonormal columns and an upper triangle.

    ``mode`` is "reduced", "complete" (Q is square) or "r" (Q is empty).
    """
    require(
        mode in ("reduced", "complete", "r"),
        "linalg.qr: mode is 'reduced', 'complete' or 'r', not {!r}",
        mode,
    )
    q, r = api._C._pellucid._linalg_qr(A, mode == "complete")
    return A.new_empty(0) if mode == "r" else q, r


@composite(
    "linalg_householder_product(Tensor input, Tensor tau) -> Tensor",
    namespace="linalg",
    out=True,
    autocast="float32",
    seen=True,
)
def householder_product(vectors, tau):
    """The first columns of the product of reflections ``1 - tau v vᴴ``.

    The vectors ``v`` are below the diagonal of ``input`` (..., m, n), as in the result
    of ``geqrf``.
    """
    _require_reflections("householder_product", vectors, tau)
    *batch, m, n = vectors.shape
    require(
        m >= n >= tau.shape[-1],
        "linalg.householder_product: {} reflections in a matrix of {} rows "
        "and {} columns: rows >= columns >= reflections is needed",
        tau.shape[-1],
        m,
        n,
    )
    one = api.eye(m, n, dtype=vectors.dtype, device=vectors.device)
    product = one.expand(*batch, m, n)
    for k in reversed(range(tau.shape[-1])):
        product = reflected(product, vectors, tau, k)
    return product.contiguous()


@composite("orgqr(Tensor self, Tensor input2) -> Tensor", out=True, autocast="float32")
def orgqr(vectors, tau):
    """``linalg.householder_product``."""
    return api.linalg.householder_product(vectors, tau)


def _require_reflections(name, vectors, tau):
    require(
        vectors.dim() >= 2 and tau.shape[:-1] == vectors.shape[:-2] and tau.dim() > 0,
        "linalg.{} takes matrices (..., m, n) and factors (..., k), not tensors of "
        "shapes {} and {}",
        name,
        vectors.shape,
        tau.shape,
    )
    require_one_dtype(name, vectors, tau)


def reflected(x, vectors, tau, k):
    """``x`` reflected by the vector in column ``k`` of ``vectors``."""
    places = api.arange(vectors.shape[-2], device=vectors.device)
    below = api.where(places > k, vectors[..., k], 0)
    vector = below + (places == k).to(vectors.dtype)
    row = (vector.conj().unsqueeze(-2) @ x) * tau[..., k, None, None]
    return x - vector.unsqueeze(-1) * row


@composite(
    "ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, "
    "bool transpose=False) -> Tensor",
    out=True,
    autocast="float32",
    seen=True,
    casts_out=False,
)
def ormqr(vectors, tau, other, left, transpose):
    """``input3`` multiplied by the Q that ``geqrf`` returned as ``self`` and
    ``input2``.
    """
    _require_reflections("ormqr", vectors, tau)
    require_matrices("ormqr", vectors, other)
    x = other if left else other.mH
    require(
        x.shape[:-1] == vectors.shape[:-1] and x.shape[-2] >= tau.shape[-1],
        "linalg.ormqr: reflections {} of vectors {} do not apply to {} from the {}",
        tau.shape,
        vectors.shape,
        other.shape,
        "left" if left else "right",
    )
    count = tau.shape[-1] if other.numel() else 0
    if count == 0:
        return other.clone()
    # Q is H1 H2 ... Hk; the adjoint of each H has tau conjugated.
    first_to_last = transpose if left else not transpose
    tau = tau.conj() if first_to_last else tau
    for k in range(count) if first_to_last else reversed(range(count)):
        x = reflected(x, vectors, tau, k)
    return x if left else x.mH
