"""Factorizations of matrices by library routines: Cholesky, LU, QR, eigenvalues.

Tangents are formulas over ops, so gradients of any order follow. The routines are
specified in routines/linalg.py; ``composites/linalg_*.py`` check the ``info`` results.
"""

from pellucid_compiler.catalogue.contraction import matmul
from pellucid_compiler.catalogue.routines import linalg as numpy_linalg
from pellucid_compiler.declare import (
    ROUTINES,
    Routine,
    conj,
    graph_rule,
    imag,
    library,
    library_op,
    make,
    real,
    require,
    tabulate,
    to,
    transpose_last,
    where,
)
from pellucid_compiler.ir.dtypes import HALF, complex_dtype, is_complex, real_dtype


def require_matrices(name, *tensors):
    """Float or complex tensors of at least two dims."""
    for x in tensors:
        require(x.rank >= 2, f"{name}: a tensor of rank {x.rank} holds no matrix")
        require(
            real_dtype(x.dtype) in ("float32", "float64"),
            f"{name}: matrices of {x.dtype} are not supported: convert to float32, "
            "float64 or a complex dtype",
        )


def require_square(name, x):
    """Square matrices of a float dtype."""
    require_matrices(name, x)
    require(
        x.shape[-2] == x.shape[-1],
        f"{name}: a matrix of {{}} rows and {{}} columns is not square",
        x.shape[-2],
        x.shape[-1],
    )


def adjoint(x):
    """The matrices transposed, and conjugated if they are complex."""
    transposed = transpose_last(x)
    return conj(transposed) if is_complex(x.dtype) else transposed


def real_part(x):
    """The real part of numbers that may be complex."""
    return real(x) if is_complex(x.dtype) else x


def masked(x, keep):
    """The elements of matrices at whose (row, column) ``keep`` is true, else 0."""
    return tabulate(x.shape, lambda *p: where(keep(p[-2], p[-1]), x[p], 0))


def inverse_of(a):
    """The inverse, for use in tangents."""
    return library("inv", a)[0]


def divided_by_lower(triangle, a):
    """``L⁻¹ a`` of a lower triangular L."""
    options = {"upper": False, "unitriangular": False}
    return library("solve_triangular", triangle, a, **options)[0]


def _corner(x, rows, columns):
    """The first rows and columns of matrices."""
    return tabulate([*x.shape[:-2], rows, columns], lambda *p: x[p])


def _diagonal(x):
    return tabulate(x.shape[:-1], lambda *p: x[[*p, p[-1]]])


# Cholesky


@library_op(
    "pellucid::_linalg_cholesky(Tensor self) -> (Tensor L, Tensor info)",
    refuses=HALF,
    method=False,
    rare=True,
    autocast="float32",
)
def cholesky(a):
    """L with ``a = L Lᴴ``, lower triangular; info as LAPACK's potrf reports it."""
    require_square("cholesky", a)
    return library("cholesky", a)


def _cholesky_types(a):
    return [(a.shape, a.dtype), (a.shape[:-2], "int32")]


def _cholesky_tangents(a, factor, info, da):
    """Murray 2016, section 3, for the symmetric part of ``da``."""
    half = divided_by_lower(factor, (da + adjoint(da)) * 0.5)
    inner = adjoint(divided_by_lower(factor, adjoint(half)))
    lower = tabulate(
        inner.shape,
        lambda *p: (
            inner[p] * where(p[-2] == p[-1], 0.5, where(p[-2] > p[-1], 1.0, 0.0))
        ),
    )
    return matmul(factor, lower), None


ROUTINES["cholesky"] = Routine(
    "cholesky",
    _cholesky_types,
    numpy_linalg.cholesky,
    graph_rule(_cholesky_tangents),
    core=(2,),
)


# LU


@library_op(
    "pellucid::_linalg_lu(Tensor A, bool pivot=True) -> (Tensor LU, Tensor pivots, "
    "Tensor info)",
    refuses=(*HALF, "integers", "bool"),
    method=False,
    rare=True,
    autocast="float32",
)
def lu(a, pivot):
    """L below and U on and above the diagonal of one matrix, the rows exchanged
    (from 1), and info as LAPACK's getrf reports it.
    """
    require_matrices("lu", a)
    packed, pivots, _, info = library("lu", a, pivot=pivot)
    return packed, pivots, info


def _lu_types(a, pivot):
    *batch, m, n = a.shape
    k = make("minimum", m, n)
    return [
        (a.shape, a.dtype),
        ((*batch, k), "int32"),
        ((*batch, m), "int64"),
        (batch, "int32"),
    ]


def _lu_tangents(a, packed, pivots, order, info, da):
    """From ``P dA = dL U + L dU``: the strict lower and the upper part of
    ``L⁻¹ P dA U⁻¹`` (de Hoog et al. 2011), with the columns outside the square part.
    """
    *batch, m, n = a.shape
    k = make("minimum", m, n)
    rows = tabulate(a.shape, lambda *p: da[[*p[:-2], order[[*p[:-2], p[-2]]], p[-1]]])
    square = _corner(packed, k, k)
    lower = tabulate(
        square.shape,
        lambda *p: where(p[-2] > p[-1], square[p], where(p[-2] == p[-1], 1.0, 0.0)),
    )
    upper = masked(square, lambda i, j: i <= j)
    lower_inverse, upper_inverse = inverse_of(lower), inverse_of(upper)
    inner = matmul(matmul(lower_inverse, _corner(rows, k, k)), upper_inverse)
    d_lower = matmul(lower, masked(inner, lambda i, j: i > j))
    d_upper = matmul(masked(inner, lambda i, j: i <= j), upper)
    below = tabulate([*batch, m - k, k], lambda *p: _at(rows, p, k, 0))
    below_l = tabulate([*batch, m - k, k], lambda *p: _at(packed, p, k, 0))
    right_part = tabulate([*batch, k, n - k], lambda *p: _at(rows, p, 0, k))
    right_u = tabulate([*batch, k, n - k], lambda *p: _at(packed, p, 0, k))
    d_below = matmul(below - matmul(below_l, d_upper), upper_inverse)
    d_right = matmul(lower_inverse, right_part - matmul(d_lower, right_u))

    def element(*p):
        i, j = p[-2], p[-1]
        inside = where(i > j, d_lower.outside(0)[p], d_upper.outside(0)[p])
        under = d_below.outside(0)[[*p[:-2], i - k, j]]
        right = d_right.outside(0)[[*p[:-2], i, j - k]]
        return where(i >= k, under, where(j >= k, right, inside))

    return tabulate(a.shape, element), None, None, None


def _at(x, point, down, right):
    return x[[*point[:-2], point[-2] + down, point[-1] + right]]


ROUTINES["lu"] = Routine(
    "lu", _lu_types, numpy_linalg.lu, graph_rule(_lu_tangents), core=(2,)
)


@library_op(
    "pellucid::_linalg_permutation(Tensor pivots, SymInt rows) -> Tensor",
    method=False,
    out=False,
    rare=True,
    autocast="float32",
)
def permutation(pivots, rows):
    """The order of the rows after the exchanges in ``pivots`` (which count from 1)."""
    return library("permutation", to(pivots, "int64"), rows=rows)[0]


ROUTINES["permutation"] = Routine(
    "permutation",
    lambda pivots, rows: [((*pivots.shape[:-1], rows), "int64")],
    numpy_linalg.permutation,
    core=(1,),
)


# QR


@library_op(
    "pellucid::_linalg_qr(Tensor A, bool complete=False) -> (Tensor Q, Tensor R)",
    refuses=HALF,
    method=False,
    rare=True,
    autocast="float32",
)
def qr(a, complete):
    """Q with orthonormal columns, and R upper triangular, whose product is ``a``."""
    require_matrices("qr", a)
    return library("qr", a, mode="complete" if complete else "reduced")


def _qr_types(a, mode):
    *batch, m, n = a.shape
    k = m if mode == "complete" else make("minimum", m, n)
    return [((*batch, m, k), a.dtype), ((*batch, k, n), a.dtype)]


def _qr_tangents(a, q, r, da):
    """Walter and Lehmann 2012: ``Qᴴ dQ`` is skew, and dR triangular with real numbers
    on its diagonal.
    """
    k = r.shape[-2]
    square = _corner(da, da.shape[-2], k)
    moved = adjoint(divided_by_lower(adjoint(_corner(r, k, k)), adjoint(square)))
    inner = matmul(adjoint(q), moved)
    lower = masked(inner, lambda i, j: i > j)
    turn = lower - adjoint(lower)
    if is_complex(a.dtype):
        phases = to(imag(inner), a.dtype) * 1j
        turn = turn + masked(phases, lambda i, j: i == j)
    dq = matmul(q, turn) + moved - matmul(q, inner)
    return dq, matmul(adjoint(q), da) - matmul(turn, r)


def _qr_rule(graph, inputs, outputs, tangents, mode):
    if mode == "complete":
        (a,) = inputs
        if a.shape[-2] is not a.shape[-1]:
            raise NotImplementedError(
                "qr has no derivative with mode='complete': use mode='reduced'"
            )
    return graph_rule(_qr_tangents)(graph, inputs, outputs, tangents)


ROUTINES["qr"] = Routine("qr", _qr_types, numpy_linalg.qr, _qr_rule, core=(2,))


@library_op(
    "geqrf(Tensor self) -> (Tensor a, Tensor tau)",
    refuses=(*HALF, "integers", "bool"),
    out="a",
    rare=True,
    autocast="float32",
    casts_out=True,
)
def geqrf(a):
    """R on and above the diagonal, Householder vectors below it, and their factors."""
    require_matrices("geqrf", a)
    return library("geqrf", a)


def _geqrf_types(a):
    k = make("minimum", a.shape[-2], a.shape[-1])
    return [(a.shape, a.dtype), ((*a.shape[:-2], k), a.dtype)]


ROUTINES["geqrf"] = Routine("geqrf", _geqrf_types, numpy_linalg.geqrf, core=(2,))


# Eigenvalues


@library_op(
    "_linalg_eigh(Tensor A, bool upper=False) -> (Tensor eigenvalues, "
    "Tensor eigenvectors)",
    refuses=(*HALF, "integers", "bool"),
    method=False,
    out=False,
    rare=True,
    autocast="float32",
)
def eigh(a, upper):
    """Ascending eigenvalues and eigenvectors of Hermitian matrices, of which one
    triangle is read.
    """
    require_square("eigh", a)
    return library("eigh", a, upper=upper)


def _eigh_types(a, upper):
    return [(a.shape[:-1], real_dtype(a.dtype)), (a.shape, a.dtype)]


def _eigh_tangents(a, values, vectors, da):
    """First-order perturbation (Magnus 1985)."""
    inner = matmul(matmul(adjoint(vectors), da), vectors)

    def rotation(*p):
        gap = values[[*p[:-2], p[-1]]] - values[[*p[:-2], p[-2]]]
        same = p[-2] == p[-1]
        return where(same, 0.0, inner[p] / where(same, 1.0, gap))

    return real_part(_diagonal(inner)), matmul(vectors, tabulate(inner.shape, rotation))


ROUTINES["eigh"] = Routine(
    "eigh", _eigh_types, numpy_linalg.eigh, graph_rule(_eigh_tangents), core=(2,)
)


@library_op(
    "pellucid::_linalg_eigvalsh(Tensor A, bool upper=False) -> Tensor",
    refuses=(*HALF, "integers", "bool"),
    method=False,
    rare=True,
    autocast="float32",
)
def eigvalsh(a, upper):
    """Ascending eigenvalues of Hermitian matrices, without eigenvectors."""
    require_square("eigvalsh", a)
    return library("eigvalsh", a, upper=upper)[0]


def _eigvalsh_rule(graph, inputs, outputs, tangents, upper):
    def of_vectors(a, values, da):
        vectors = library("eigh", a, upper=upper)[1]
        moved = matmul(matmul(adjoint(vectors), da), vectors)
        return (real_part(_diagonal(moved)),)

    return graph_rule(of_vectors)(graph, inputs, outputs, tangents)


ROUTINES["eigvalsh"] = Routine(
    "eigvalsh",
    lambda a, upper: _eigh_types(a, upper)[:1],
    numpy_linalg.eigvalsh,
    _eigvalsh_rule,
    core=(2,),
)


@library_op(
    "pellucid::_linalg_eig(Tensor A) -> (Tensor eigenvalues, Tensor eigenvectors)",
    refuses=HALF,
    method=False,
    rare=True,
    autocast="float32",
)
def eig(a):
    """Complex eigenvalues and eigenvectors of length 1 of square matrices."""
    require_square("eig", a)
    return library("eig", a)


def _eig_types(a):
    dtype = complex_dtype(a.dtype)
    return [(a.shape[:-1], dtype), (a.shape, dtype)]


def _eig_tangents(a, values, vectors, da):
    """First-order perturbation (Magnus 1985); the vectors' lengths are constant."""
    moved = matmul(to(da, vectors.dtype), vectors)
    inner = matmul(inverse_of(vectors), moved)

    def rotation(*p):
        gap = values[[*p[:-2], p[-1]]] - values[[*p[:-2], p[-2]]]
        same = p[-2] == p[-1]
        return where(same, 0.0, inner[p] / where(same, 1.0, gap))

    d_vectors = matmul(vectors, tabulate(inner.shape, rotation))
    growth = real_part(_diagonal(matmul(adjoint(vectors), d_vectors)))
    radial = tabulate(vectors.shape, lambda *p: vectors[p] * growth[[*p[:-2], p[-1]]])
    return _diagonal(inner), d_vectors - radial


ROUTINES["eig"] = Routine(
    "eig", _eig_types, numpy_linalg.eig, graph_rule(_eig_tangents), core=(2,)
)
