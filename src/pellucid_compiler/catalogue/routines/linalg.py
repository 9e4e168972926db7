"""The routines of linear algebra in NumPy, for batches of matrices.

They are the specification, used by the interpreter, and, through
``_trace.run_routine``, the fallback if runtime/library finds no LAPACK. NumPy has no
pivoted LU and no triangular solver; these are implemented here by blocks, so that most
work is in matrix products. Used by factorizations.py and inverses.py.
"""

from typing import Any

from pellucid_compiler.catalogue.routines.lapack import lapack, svd

BLOCK = 32
LONG_ROW = (
    256  # from so many columns on, a loop over rows is faster than LAPACK's copies
)


def _each(function: Any, matrices: Any) -> list[Any]:
    """``function`` of every matrix of a batch."""
    flat = matrices.reshape(-1, *matrices.shape[-2:])
    return [function(matrix) for matrix in flat]


# Factorizations


def cholesky(a: Any) -> list[Any]:
    """L with ``a = L Lᴴ``, and 0 or the order of the first minor that is not positive
    definite.
    """
    import numpy

    info = numpy.zeros(a.shape[:-2], numpy.int32)
    whole = _cholesky_factor(a)
    if whole is not None:
        return [whole, info]
    results = _each(_checked_cholesky, a)
    factors = numpy.stack([factor for factor, _ in results]).reshape(a.shape)
    info[...] = numpy.reshape([order for _, order in results], info.shape)
    return [factors, info]


def _cholesky_factor(a: Any) -> Any:
    """The factor, or None if a pivot is not positive or is NaN."""
    import numpy

    try:
        factor = lapack("cholesky_lo", a)
    except numpy.linalg.LinAlgError:
        return None
    pivots = numpy.diagonal(factor, axis1=-2, axis2=-1)
    return None if numpy.isnan(pivots).any() else factor


def _checked_cholesky(a: Any) -> tuple[Any, int]:
    import numpy

    def factor(order: int) -> Any:
        return _cholesky_factor(a[:order, :order])

    whole = factor(a.shape[0])
    if whole is not None:
        return whole, 0
    low, high = 0, a.shape[0]  # the minor of order `low` factors, that of `high` not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if factor(middle) is not None else (low, middle)
    partial = numpy.tril(a)
    if low:
        partial[:low, :low] = factor(low)
    return partial, high


def lu(a: Any, pivot: bool) -> list[Any]:
    """L and U in one matrix, the row exchanged with each (from 1), the resulting order
    of rows, and 0 or the first zero on U's diagonal.
    """
    import numpy

    packed = a.copy()
    *batch, m, n = a.shape
    k = min(m, n)
    pivots = numpy.broadcast_to(numpy.arange(1, k + 1), (*batch, k)).astype(numpy.int32)
    order = numpy.broadcast_to(numpy.arange(m), (*batch, m)).astype(numpy.int64)
    info = numpy.zeros(batch, numpy.int32)
    for index in numpy.ndindex(*batch):
        info[index] = _lu_in_place(packed[index], pivots[index], order[index], pivot)
    return [packed, pivots, order, info]


def _lu_in_place(a: Any, pivots: Any, order: Any, pivot: bool) -> int:
    """Right-looking, by blocks of columns (Golub and Van Loan, 3.2.11)."""
    import numpy

    m, n = a.shape
    first_zero = 0
    for start in range(0, min(m, n), BLOCK):
        end = min(start + BLOCK, min(m, n))
        for j in range(start, end):
            row = j
            if pivot:
                row = j + int(numpy.argmax(_size(a[j:, j])))
            if row != j:
                a[[j, row]], order[[j, row]] = a[[row, j]], order[[row, j]]
                pivots[j] = row + 1
            if a[j, j] == 0:
                first_zero = first_zero or j + 1
                continue
            a[j + 1 :, j] /= a[j, j]
            a[j + 1 :, j + 1 : end] -= numpy.outer(a[j + 1 :, j], a[j, j + 1 : end])
        if end < n:
            corner = numpy.tril(a[start:end, start:end], -1)
            corner += numpy.eye(end - start, dtype=a.dtype)
            a[start:end, end:] = lapack("solve", corner, a[start:end, end:])
            a[end:, end:] -= a[end:, start:end] @ a[start:end, end:]
    return first_zero


def _size(x: Any) -> Any:
    """The size by which LAPACK chooses a pivot: for complex numbers, the sum of both
    parts."""
    import numpy

    return numpy.abs(x.real) + numpy.abs(x.imag)


def permutation(pivots: Any, rows: int) -> list[Any]:
    """The order of ``rows`` rows after the exchanges ``pivots`` (from 1)."""
    import numpy

    *batch, count = pivots.shape
    order = numpy.broadcast_to(numpy.arange(rows), (*batch, rows)).astype(numpy.int64)
    for index in numpy.ndindex(*batch):
        row = order[index]
        for j in range(count):
            other = int(pivots[(*index, j)]) - 1
            row[[j, other]] = row[[other, j]]
    return [order]


def qr(a: Any, mode: str) -> list[Any]:
    """Q and R; Q is empty for mode ``"r"``."""
    import numpy

    if mode == "r":
        return [numpy.zeros((0,), a.dtype), numpy.linalg.qr(a, "r")]
    options: dict[str, Any] = {"mode": mode}
    return list(numpy.linalg.qr(a, **options))


def geqrf(a: Any) -> list[Any]:
    """R and the Householder vectors below it, and their factors."""
    import numpy

    packed, tau = numpy.linalg.qr(a, "raw")
    return [numpy.swapaxes(packed, -1, -2), tau]


def eigh(a: Any, upper: bool) -> list[Any]:
    """Ascending eigenvalues and eigenvectors of Hermitian matrices."""
    return list(lapack("eigh_up" if upper else "eigh_lo", a))


def eigvalsh(a: Any, upper: bool) -> list[Any]:
    """Ascending eigenvalues of Hermitian matrices."""
    return [lapack("eigvalsh_up" if upper else "eigvalsh_lo", a)]


def eig(a: Any) -> list[Any]:
    """Complex eigenvalues, and eigenvectors of length 1."""
    return list(lapack("eig", a))


# Inverses


def inv(a: Any) -> list[Any]:
    """The inverses, NaN for singular matrices, and 0 or the first zero on the diagonal
    of U.
    """
    import numpy

    identity = numpy.broadcast_to(numpy.eye(a.shape[-1], dtype=a.dtype), a.shape)
    inverse, info = solve(a, identity)
    inverse[info != 0] = numpy.nan
    return [inverse, info]


def solve(a: Any, b: Any) -> list[Any]:
    """X with ``a X = b``, and 0 or the first zero on the diagonal of U."""
    import numpy

    info = numpy.zeros(numpy.broadcast_shapes(a.shape[:-2], b.shape[:-2]), numpy.int32)
    try:
        return [lapack("solve", a, b), info]
    except numpy.linalg.LinAlgError:
        shape = (*info.shape, *a.shape[-2:])
        factors, _, order, info = lu(numpy.broadcast_to(a, shape), True)
        wide = numpy.broadcast_to(b, (*info.shape, *b.shape[-2:]))
        rows = numpy.take_along_axis(wide, order[..., None], -2)
        (lower,) = solve_triangular(factors, rows, upper=False, unitriangular=True)
        (solution,) = solve_triangular(factors, lower, upper=True, unitriangular=False)
        return [solution, info]


def solve_triangular(a: Any, b: Any, upper: bool, unitriangular: bool) -> list[Any]:
    """X with ``a X = b``, by blocks of rows; only one triangle of ``a`` is read."""
    import numpy

    n = a.shape[-1]
    batch = numpy.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    x = numpy.broadcast_to(b, (*batch, *b.shape[-2:])).copy()
    starts = range(0, n, BLOCK)
    with numpy.errstate(all="ignore"):
        for start in reversed(starts) if upper else starts:
            end = min(start + BLOCK, n)
            corner = a[..., start:end, start:end]
            _solve_corner(corner, x[..., start:end, :], upper, unitriangular)
            rest = slice(0, start) if upper else slice(end, n)
            x[..., rest, :] -= a[..., rest, start:end] @ x[..., start:end, :]
    return [x]


def _solve_corner(a: Any, x: Any, upper: bool, unitriangular: bool) -> None:
    """Replace ``x`` by the solution, row after row.

    LAPACK's elimination does the same for upper triangles, and for reversed lower ones,
    but it also multiplies the zeros of the other triangle, which is wrong for
    infinities.
    """
    import numpy

    triangle = numpy.triu(a) if upper else numpy.tril(a)
    diagonal = numpy.einsum("...ii->...i", triangle)
    if unitriangular:
        diagonal[...] = 1
    finite = all(numpy.isfinite(part).all() for part in (triangle, x))
    if finite and diagonal.all() and x.shape[-1] < LONG_ROW:
        turn = slice(None, None, None if upper else -1)
        solution = lapack("solve", triangle[..., turn, turn], x[..., turn, :])
        x[..., turn, :] = solution
        return
    rows = range(a.shape[-1])
    for i in reversed(rows) if upper else rows:
        known = slice(i + 1, None) if upper else slice(0, i)
        x[..., i, :] -= (a[..., i : i + 1, known] @ x[..., known, :])[..., 0, :]
        if not unitriangular:
            x[..., i, :] /= a[..., i, i][..., None]


def pinv(a: Any, cutoff: Any, hermitian: bool) -> list[Any]:
    """The pseudo-inverses; singular values up to ``cutoff`` count as zero."""
    import numpy

    if hermitian:
        s, u = lapack("eigh_lo", a)
        v = u
    else:
        u, s, vh = svd(a, full_matrices=False)
        v = _adjoint(vh)
    is_significant = abs(s) > cutoff[..., None]
    inverse = numpy.where(
        is_significant, 1 / numpy.where(is_significant, s, 1), 0
    ).astype(a.dtype)
    return [(v * inverse[..., None, :]) @ _adjoint(u)]


def lstsq(a: Any, b: Any, rcond: Any) -> list[Any]:
    """The smallest X that minimises ``|a X - b|``, and the ranks."""
    import numpy

    _, s, _ = svd(a, full_matrices=False)
    cutoff = rcond * s.max(-1, initial=0)
    (inverse,) = pinv(a, cutoff, hermitian=False)
    solution = inverse @ b
    rank = (s > cutoff[..., None]).sum(-1).astype(numpy.int64)
    return [solution, numpy.broadcast_to(rank, solution.shape[:-2])]


def _adjoint(a: Any) -> Any:
    import numpy

    return numpy.swapaxes(a, -1, -2).conj()


# Determinants


def det(a: Any) -> list[Any]:
    """The determinants."""
    import numpy

    return [numpy.asarray(lapack("det", a))]


def slogdet(a: Any) -> list[Any]:
    """Signs and logarithms of the absolute values of the determinants."""
    import numpy

    return [numpy.asarray(part) for part in lapack("slogdet", a)]


def adjugate(a: Any) -> list[Any]:
    """The transposed matrices of cofactors, also for singular matrices, by
    ``adj(U S Vᴴ) = det(U Vᴴ) V adj(S) Uᴴ``.
    """
    import numpy

    u, s, vh = svd(a, full_matrices=True)
    n = s.shape[-1]
    others = numpy.where(numpy.eye(n, dtype=bool), 1, s[..., None, :]).prod(-1)
    sign = lapack("det", u) * lapack("det", vh)
    left = _adjoint(vh) * others[..., None, :]
    product = left @ _adjoint(u)
    return [(sign[..., None, None] * product).astype(a.dtype)]
