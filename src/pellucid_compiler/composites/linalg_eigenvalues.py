"""Eigenvalues, singular values, and functions of them: rank, condition, pseudo-inverse.

The routines are ``catalogue/factorizations.py``'s and ``catalogue/linalg.py``'s.
"""

from pellucid_compiler.composites import api, composite, require
from pellucid_compiler.composites.linalg_checks import plain

# Eigenvalues


@composite(
    "linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)",
    namespace="linalg",
    out="out",
    seen=True,
    casts_out=True,
)
def eig(x):
    """The eigenvalues and eigenvectors (columns of length 1) of square matrices, both
    complex; the order is LAPACK's.

    The gradient of vectors is defined if the eigenvalues differ, up to the phase of
    each.

    >>> torch.linalg.eig(torch.tensor([[0.0, 1.0], [-1.0, 0.0]])).eigenvalues
    tensor([0.+1.j, 0.-1.j])
    """
    _require_finite("eig", x)
    return api._C._pellucid._linalg_eig(x)


@composite("linalg_eigvals(Tensor self) -> Tensor", namespace="linalg", out=True)
def eigvals(x):
    """The complex eigenvalues of square matrices, in LAPACK's order."""
    _require_finite("eigvals", x)
    return api._C._pellucid._linalg_eig(x)[0]


def _require_finite(name, x):
    values = plain(x.detach())
    require(
        values.is_meta or bool(values.isfinite().all()),
        "linalg.{}: the matrix holds infinities or NaN",
        name,
    )


@composite(
    "linalg_eigh(Tensor self, str UPLO='L') "
    "-> (Tensor eigenvalues, Tensor eigenvectors)",
    namespace="linalg",
    forms=(
        "linalg_eigh.eigvals(Tensor self, str UPLO='L', *, Tensor(a!) eigvals, "
        "Tensor(b!) eigvecs) -> (Tensor(a!) eigenvalues, Tensor(b!) eigenvectors)",
    ),
)
def eigh(x, UPLO):
    """The ascending eigenvalues, and eigenvectors (columns), of Hermitian matrices.

    Only the triangle ``UPLO`` is read.
    """
    return api._linalg_eigh(x, _is_upper(UPLO))


@composite(
    "linalg_eigvalsh(Tensor self, str UPLO='L') -> Tensor",
    namespace="linalg",
    out=True,
    casts_out=False,
)
def eigvalsh(x, UPLO):
    """The ascending eigenvalues of Hermitian matrices."""
    return api._C._pellucid._linalg_eigvalsh(x, _is_upper(UPLO))


def _is_upper(triangle):
    require(
        triangle.upper() in ("L", "U"),
        "linalg.eigh: UPLO is 'L' or 'U', not {!r}",
        triangle,
    )
    return triangle.upper() == "U"


# Singular values


@composite(
    "linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) "
    "-> (Tensor U, Tensor S, Tensor Vh)",
    namespace="linalg",
    out="U",
)
def svd(A, full_matrices, *, driver):
    """``A = U diag(S) Vh``; U and Vh are square with ``full_matrices``.

    ``driver`` selects a routine of GPUs and is refused here.
    """
    _refuse_driver("svd", driver)
    return api._linalg_svd(A, full_matrices, True)


@composite(
    "linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor",
    namespace="linalg",
    out=True,
    casts_out=False,
)
def svdvals(A, *, driver):
    """The singular values in descending order."""
    _refuse_driver("svdvals", driver)
    return api._C._pellucid._linalg_svdvals(A)


def _refuse_driver(name, driver):
    require(
        driver is None,
        "linalg.{}: driver {!r} is one of a GPU's; leave it out",
        name,
        driver,
    )


@composite(
    "linalg_cond(Tensor self, Scalar? p=None) -> Tensor", namespace="linalg", out=True
)
@composite(
    "linalg_cond.p_str(Tensor self, str p) -> Tensor", namespace="linalg", out=True
)
def cond(x, p):
    """The condition number: the norm of a matrix times that of its inverse; infinite
    for singular matrices.
    """
    if p not in (None, 2, -2):
        inverse, info = api.linalg.inv_ex(x)
        norms = api.linalg.matrix_norm(x, p) * api.linalg.matrix_norm(inverse, p)
        return api.where(info == 0, norms, float("inf"))
    values = api.linalg.svdvals(x)
    if not values.shape[-1]:
        return values.sum(-1)
    ends = values[..., 0], values[..., -1]
    return ends[1] / ends[0] if p == -2 else ends[0] / ends[1]


# Which singular values count as zero


def _cutoff(values, atol, rtol, size):
    """The bound up to which singular values count as zero, per matrix."""
    tensor = api.Tensor
    if rtol is None:
        epsilon = size * api.finfo(values.dtype).eps
        if isinstance(atol, tensor):
            rtol = api.where(atol > 0, 0.0, epsilon)
        else:
            rtol = 0.0 if atol else epsilon
    largest = values.amax(-1) if values.shape[-1] else values.sum(-1)
    relative = largest * _as_values(rtol, values)
    if atol is None:
        return relative
    if not isinstance(atol, tensor):
        return relative.clamp(min=atol)
    return api.maximum(atol.to(values.dtype), relative)


def _as_values(bound, values):
    """A number, or a tensor in the dtype of ``values``."""
    return bound.to(values.dtype) if isinstance(bound, api.Tensor) else bound


def _magnitudes(x, hermitian):
    """The singular values; for ``hermitian``, the absolute eigenvalues, for which one
    triangle is read.
    """
    return api.linalg.eigvalsh(x).abs() if hermitian else api.linalg.svdvals(x)


@composite(
    "linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, "
    "bool hermitian=False) -> Tensor",
    namespace="linalg",
    out=True,
)
@composite(
    "linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, "
    "Tensor? rtol=None, bool hermitian=False) -> Tensor",
    namespace="linalg",
    out=True,
    seen=True,
)
def pinv(x, *, atol, rtol, hermitian):
    """The pseudo-inverse (Moore and Penrose).

    Singular values up to ``max(atol, rtol * greatest)`` count as zero; ``rtol`` is the
    dtype's epsilon times the larger dim unless ``atol`` is given.
    """
    if not x.numel():
        return x.mH.clone()
    values = _magnitudes(x.detach(), hermitian)
    cutoff = _cutoff(values, atol, rtol, max(x.shape[-2:]))
    batch = api.broadcast_shapes(cutoff.shape, x.shape[:-2])
    x, cutoff = x.expand(*batch, *x.shape[-2:]), cutoff.expand(batch)
    return api._C._pellucid._linalg_pinv(x, cutoff, hermitian)


@composite(
    "linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor",
    namespace="linalg",
    out=True,
)
@composite(
    "linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) "
    "-> Tensor",
    namespace="linalg",
    out="out_rcond_tensor",
)
def pinv_of(x, rcond, hermitian):
    """``pinv`` with ``rtol`` by position, under its older name."""
    return pinv(x, atol=None, rtol=rcond, hermitian=hermitian)


@composite("pinverse(Tensor self, float rcond=1e-15) -> Tensor")
def pinverse(x, rcond):
    """The pseudo-inverse; see ``linalg.pinv``."""
    return pinv(x, atol=None, rtol=rcond, hermitian=False)


@composite(
    "linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, "
    "float? rtol=None, bool hermitian=False) -> Tensor",
    namespace="linalg",
    out=True,
)
@composite(
    "linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, "
    "Tensor? rtol=None, bool hermitian=False) -> Tensor",
    namespace="linalg",
    out=True,
)
def matrix_rank(x, *, atol, rtol, hermitian):
    """The number of singular values that are not zero by the rule of ``pinv``."""
    values = _magnitudes(x.detach(), hermitian)
    limit = _cutoff(values, atol, rtol, max(x.shape[-2:]))
    return (values > limit.unsqueeze(-1)).sum(-1)


@composite(
    "linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor",
    namespace="linalg",
    out=True,
)
@composite(
    "linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False) "
    "-> Tensor",
    namespace="linalg",
    out="out_tol_tensor",
)
def matrix_rank_of(x, tol, hermitian):
    """``matrix_rank`` with an absolute bound, its older form."""
    values = _magnitudes(x.detach(), hermitian)
    if isinstance(tol, api.Tensor):
        tol = tol.to(values.dtype).unsqueeze(-1)
    return (values > tol).sum(-1)
