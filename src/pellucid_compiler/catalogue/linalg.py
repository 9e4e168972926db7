"""Singular value decompositions by library routines: svd, svdvals."""

from pellucid_compiler.catalogue.contraction import matmul
from pellucid_compiler.catalogue.factorizations import adjoint, real_part
from pellucid_compiler.catalogue.routines import lapack as numpy_lapack
from pellucid_compiler.declare import (
    ROUTINES,
    Routine,
    graph_rule,
    imag,
    library,
    library_op,
    make,
    require,
    tabulate,
    to,
    unsqueeze,
    where,
)
from pellucid_compiler.ir.dtypes import HALF, is_complex, real_dtype


@library_op(
    "_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True) "
    "-> (Tensor U, Tensor S, Tensor Vh)",
    refuses=HALF,
    method=False,
    out=False,
    rare=True,
    autocast="float32",
)
def svd(a, full_matrices, compute_uv):
    """``A = U diag(S) Vh`` for every matrix of the batch (LAPACK gesdd)."""
    require(a.rank >= 2, f"svd: a tensor of rank {a.rank} holds no matrix")
    require(a.is_floating, f"svd: {a.dtype} is not a float dtype; convert first")
    return library("svd", a, full_matrices=full_matrices)


def svd_types(a, full_matrices):
    """The shapes of U, S, Vh: square U and Vh with ``full_matrices``."""
    *batch, m, n = a.shape
    k = make("minimum", m, n)
    rows, cols = (m, n) if full_matrices else (k, k)
    return [
        ((*batch, m, rows), a.dtype),
        ((*batch, k), real_dtype(a.dtype)),
        ((*batch, cols, n), a.dtype),
    ]


def svd_reference(a, full_matrices):
    """The implementation of the interpreter."""
    return numpy_lapack.svd(a, full_matrices)


def svd_tangents(a, u, s, vh, da):
    """Wan and Zhang 2019; the terms outside the span vanish for square matrices.

    A common phase of complex vectors is arbitrary: both take half of it.
    """
    v = adjoint(vh)
    p = matmul(matmul(adjoint(u), da), v)
    q = adjoint(p)

    def gap(*i):
        row, col = s[[*i[:-2], i[-2]]], s[[*i[:-2], i[-1]]]
        return where(i[-1] == i[-2], 1.0, col * col - row * row)

    gaps = tabulate(p.shape, gap)
    row, col = unsqueeze(s, s.rank), unsqueeze(s, s.rank - 1)

    def skew(x):
        return tabulate(p.shape, lambda *i: where(i[-1] == i[-2], 0.0, x[i])) / gaps

    def outside(basis, x):
        return x - matmul(basis, matmul(adjoint(basis), x))

    du = matmul(u, skew(p * col + row * q)) + outside(u, matmul(da, v)) / col
    dv = matmul(v, skew(row * p + q * col)) + outside(v, matmul(adjoint(da), u)) / col
    ds = tabulate(s.shape, lambda *i: p[[*i, i[-1]]])
    if is_complex(a.dtype):
        turn = to(imag(ds), a.dtype) * 0.5j / s
        du = du + u * unsqueeze(turn, s.rank - 1)
        dv = dv - v * unsqueeze(turn, s.rank - 1)
    return du, real_part(ds), adjoint(dv)


def svd_rule(graph, inputs, outputs, tangents, full_matrices):
    """Vectors of square U and Vh without a singular value are treated as constant: they
    are the routine's arbitrary choice.
    """

    def of_known_vectors(a, u, s, vh, da):
        k = s.shape[-1]
        known_u = tabulate([*u.shape[:-1], k], lambda *i: u[i])
        known_vh = tabulate([*s.shape, vh.shape[-1]], lambda *i: vh[i])
        du, ds, dvh = svd_tangents(a, known_u, s, known_vh, da)
        wide_u = tabulate(u.shape, lambda *i: du.outside(0)[i])
        return wide_u, ds, tabulate(vh.shape, lambda *i: dvh.outside(0)[i])

    function = of_known_vectors if full_matrices else svd_tangents
    return graph_rule(function)(graph, inputs, outputs, tangents)


ROUTINES["svd"] = Routine("svd", svd_types, svd_reference, svd_rule, core=(2,))


@library_op(
    "pellucid::_linalg_svdvals(Tensor A) -> Tensor",
    method=False,
    rare=True,
    autocast="float32",
)
def svdvals(a):
    """The singular values in descending order, without vectors."""
    require(a.rank >= 2, f"svdvals: a tensor of rank {a.rank} holds no matrix")
    require(a.is_floating, f"svdvals: {a.dtype} is not a float dtype; convert first")
    return library("svdvals", a)[0]


def svdvals_tangents(a, s, da):
    """Like the tangents of svd; computes the singular vectors."""
    u, _, vh = library("svd", a, full_matrices=False)
    p = matmul(matmul(adjoint(u), da), adjoint(vh))
    return (real_part(tabulate(s.shape, lambda *i: p[[*i, i[-1]]])),)


ROUTINES["svdvals"] = Routine(
    "svdvals",
    lambda a: svd_types(a, full_matrices=False)[1:2],
    lambda a: svd_reference(a, full_matrices=False)[1:2],
    graph_rule(svdvals_tangents),
    core=(2,),
)
