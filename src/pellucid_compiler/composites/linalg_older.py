"""Linear algebra under its names before ``torch.linalg``: cholesky, qr, svd, ..."""

from pellucid_compiler.composites import api, composite, require
from pellucid_compiler.composites.linalg_checks import INDEFINITE, check, require_square
from pellucid_compiler.composites.linalg_solutions import solve_triangular


@composite("cholesky(Tensor self, bool upper=False) -> Tensor", out=True, seen=True)
def cholesky(x, upper):
    """``linalg.cholesky``, which reads only the upper or lower triangle."""
    api._package.calls.deprecation.deprecated("torch.cholesky", "torch.linalg.cholesky")
    factor, info = api._C._pellucid._linalg_cholesky(x.mH if upper else x)
    check("cholesky", info, INDEFINITE)
    return factor.mH if upper else factor


@composite(
    "cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor",
    out=True,
    seen=True,
)
def cholesky_solve(b, factor, upper):
    """X with ``A X = self`` for ``A = L Lᵀ``, or ``Lᵀ L`` with ``upper``."""
    require(
        b.dim() >= 2 and factor.dim() >= 2,
        "cholesky_solve takes matrices; unsqueeze vectors",
    )
    first, second = (factor.mH, factor) if upper else (factor, factor.mH)
    inner = solve_triangular(first, b, upper=False)
    return solve_triangular(second, inner, upper=True)


@composite(
    "cholesky_inverse(Tensor self, bool upper=False) -> Tensor", out=True, seen=True
)
def cholesky_inverse(factor, upper):
    """The inverse of ``L Lᵀ``, or ``Lᵀ L`` with ``upper``."""
    require_square("cholesky_inverse", factor)
    one = api.eye(factor.shape[-1], dtype=factor.dtype, device=factor.device)
    return cholesky_solve(one.expand(factor.shape), factor, upper)


@composite(
    "triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, "
    "bool unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)",
    forms=(
        "triangular_solve.X(Tensor self, Tensor A, bool upper=True, "
        "bool transpose=False, bool unitriangular=False, *, Tensor(a!) X, "
        "Tensor(b!) M) -> (Tensor(a!) solution, Tensor(b!) cloned_coefficient)",
    ),
    autocast="float32",
    seen=True,
)
def triangular_solve(b, A, upper, transpose, unitriangular):
    """X with ``A X = b``, or ``Aᵀ X = b``, for triangular ``A``; and a copy of A."""
    api._package.calls.deprecation.deprecated(
        "torch.triangular_solve", "torch.linalg.solve_triangular"
    )
    coefficients = A.mT if transpose else A
    is_upper = upper != transpose
    solution = solve_triangular(
        coefficients, b, upper=is_upper, unitriangular=unitriangular
    )
    return solution, A.clone()


@composite("qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)", out="Q")
def qr(x, some):
    """``linalg.qr``, reduced with ``some``."""
    api._package.calls.deprecation.deprecated("torch.qr", "torch.linalg.qr")
    return tuple(api.linalg.qr(x, "reduced" if some else "complete"))


@composite(
    "svd(Tensor self, bool some=True, bool compute_uv=True) "
    "-> (Tensor U, Tensor S, Tensor V)",
    out="U",
)
def svd(x, some, compute_uv):
    """``linalg.svd`` with V itself, not its transpose; zeros without ``compute_uv``."""
    if compute_uv:
        u, s, vh = api.linalg.svd(x, full_matrices=not some)
        return u, s, vh.mH
    *batch, m, n = x.shape
    zeros = x.new_zeros
    return zeros([*batch, m, m]), api.linalg.svdvals(x), zeros([*batch, n, n])


@composite(
    "lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor",
    out=True,
    casts_out=False,
)
def lu_solve(b, factors, pivots):
    """``linalg.lu_solve`` with the right-hand side first."""
    return api.linalg.lu_solve(factors, pivots, b)
