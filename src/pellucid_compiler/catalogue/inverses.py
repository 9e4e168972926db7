"""Inverses, solutions of linear systems and determinants by library routines.

Tangents multiply by an inverse, so that they can be transposed like any product. The
routines are specified in routines/linalg.py; ``composites/linalg_*.py`` check the
``info`` results.
"""

from pellucid_compiler.catalogue.contraction import matmul
from pellucid_compiler.catalogue.factorizations import (
    adjoint,
    inverse_of,
    masked,
    real_part,
    require_matrices,
    require_square,
)
from pellucid_compiler.catalogue.routines import linalg as numpy_linalg
from pellucid_compiler.catalogue.seen import summed
from pellucid_compiler.composites import api
from pellucid_compiler.declare import (
    ROUTINES,
    Routine,
    broadcast_shapes,
    graph_rule,
    imag,
    library,
    library_op,
    lift,
    require,
    tabulate,
    to,
    total,
    transposed_rule,
    unsqueeze,
)
from pellucid_compiler.ir.dtypes import HALF, is_complex, real_dtype


@library_op(
    "pellucid::_linalg_inv(Tensor A) -> (Tensor inverse, Tensor info)",
    method=False,
    rare=True,
    autocast="float32",
)
def inv(a):
    """The inverse, and 0 or the first zero on the diagonal of U."""
    require_square("inv", a)
    return library("inv", a)


inv.gradients_seen_as(
    A=lambda grad, result: -(result.mH @ (grad @ result.mH)),
)


def _inv_types(a):
    return [(a.shape, a.dtype), (a.shape[:-2], "int32")]


def _inv_tangents(a, inverse, info, da):
    """From ``A A⁻¹ = 1``."""
    return -matmul(matmul(inverse, da), inverse), None


ROUTINES["inv"] = Routine(
    "inv", _inv_types, numpy_linalg.inv, graph_rule(_inv_tangents), core=(2,)
)


@library_op(
    "pellucid::_linalg_solve(Tensor A, Tensor B) -> (Tensor result, Tensor info)",
    refuses=HALF,
    method=False,
    rare=True,
    autocast="float32",
)
def solve(a, b):
    """X with ``A X = B``, and 0 or the first zero on the diagonal of U."""
    _require_system("solve", a, b)
    return library("solve", a, b)


def _solved_adjoint(a, grad):
    return api.ops.pellucid._linalg_solve(a.mH, grad)[0]


solve.gradients_seen_as(
    A=lambda grad, size, A, result: summed(
        -(_solved_adjoint(A, grad) @ result.mH), size
    ),
    B=lambda grad, size, A: summed(_solved_adjoint(A, grad), size),
)


def _require_system(name, a, b):
    require_square(name, a)
    require_matrices(name, b)
    require(
        a.dtype == b.dtype,
        f"{name}: A is {a.dtype} and B {b.dtype}; convert one of them",
    )
    require(
        a.shape[-1] == b.shape[-2],
        f"{name}: a matrix of {{}} columns for {{}} rows of B",
        a.shape[-1],
        b.shape[-2],
    )


def _solve_types(a, b):
    batch = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return [((*batch, *b.shape[-2:]), b.dtype), (batch, "int32")]


def _solve_tangents(a, b, x, info, da, db):
    """From ``dA X + A dX = dB``."""
    return library("solve", a, _right_side(x, da, db))[0], None


def _right_side(x, da, db):
    """``dB - dA X`` in the shape of X; one of the tangents may be absent."""
    if da is None:
        return lift(lambda moved, _: moved, db, x)
    moved = -matmul(da, x)
    return moved if db is None else moved + db


def _solve_transposed(grad, shape, a):
    return library("solve", adjoint(a), grad)[0]


ROUTINES["solve"] = Routine(
    "solve",
    _solve_types,
    numpy_linalg.solve,
    graph_rule(_solve_tangents),
    transposed_rule(_solve_transposed),
    core=(2, 2),
    linear_in=1,
)


@library_op(
    "pellucid::_linalg_solve_triangular(Tensor A, Tensor B, bool upper, "
    "bool unitriangular=False) -> Tensor",
    refuses=(*HALF, "integers", "bool"),
    method=False,
    rare=True,
    autocast="float32",
)
def solve_triangular(a, b, upper, unitriangular):
    """X with ``A X = B``; only one triangle of A is read."""
    _require_system("solve_triangular", a, b)
    options = {"upper": upper, "unitriangular": unitriangular}
    return library("solve_triangular", a, b, **options)[0]


def _solved_triangular_adjoint(grad, a, upper, unitriangular):
    return api.ops.pellucid._linalg_solve_triangular(
        a.mH, grad, not upper, unitriangular
    )


def _seen_of_triangle(grad, size, A, upper, unitriangular, result):
    solved = _solved_triangular_adjoint(grad, A, upper, unitriangular)
    gradient = -(solved @ result.mH)
    first = int(unitriangular)
    return summed(gradient.triu(first) if upper else gradient.tril(-first), size)


solve_triangular.gradients_seen_as(
    A=_seen_of_triangle,
    B=lambda grad, size, A, upper, unitriangular: summed(
        _solved_triangular_adjoint(grad, A, upper, unitriangular), size
    ),
)


def _triangular_types(a, b, upper, unitriangular):
    return _solve_types(a, b)[:1]


def _triangular_rule(graph, inputs, outputs, tangents, upper, unitriangular):
    def is_read(i, j):
        if unitriangular:
            return i < j if upper else i > j
        return i <= j if upper else i >= j

    options = {"upper": upper, "unitriangular": unitriangular}

    def of_triangle(a, b, x, da, db):
        moved = None if da is None else masked(da, is_read)
        return library("solve_triangular", a, _right_side(x, moved, db), **options)

    return graph_rule(of_triangle)(graph, inputs, outputs, tangents)


def _triangular_transposed(grad, shape, a, upper, unitriangular):
    options = {"upper": not upper, "unitriangular": unitriangular}
    return library("solve_triangular", adjoint(a), grad, **options)[0]


ROUTINES["solve_triangular"] = Routine(
    "solve_triangular",
    _triangular_types,
    numpy_linalg.solve_triangular,
    _triangular_rule,
    transposed_rule(_triangular_transposed),
    core=(2, 2),
    linear_in=1,
)


@library_op(
    "pellucid::_linalg_pinv(Tensor A, Tensor cutoff, bool hermitian=False) -> Tensor",
    method=False,
    rare=True,
    autocast="float32",
)
def pinv(a, cutoff, hermitian):
    """The pseudo-inverse; singular values up to ``cutoff`` count as zero."""
    require_matrices("pinv", a)
    return library("pinv", a, cutoff, hermitian=hermitian)[0]


def _pinv_types(a, cutoff, hermitian):
    *batch, m, n = a.shape
    return [((*batch, n, m), a.dtype)]


def _pinv_rule(graph, inputs, outputs, tangents, hermitian):
    return graph_rule(_pinv_tangents)(graph, inputs, outputs, tangents)


def _pinv_tangents(a, cutoff, inverse, da, _):
    """Golub and Pereyra 1973, theorem 4.3: for a rank that does not change."""
    if da is None:
        return (None,)
    dat, inverset = adjoint(da), adjoint(inverse)
    direct = -matmul(matmul(inverse, da), inverse)
    left = matmul(matmul(dat, inverset), inverse)
    left = left - matmul(inverse, matmul(a, left))
    right = matmul(matmul(inverse, inverset), dat)
    return (direct + left + right - matmul(matmul(right, a), inverse),)


ROUTINES["pinv"] = Routine(
    "pinv", _pinv_types, numpy_linalg.pinv, _pinv_rule, core=(2, 0)
)


# Determinants


def _trace_of_product(a, b):
    """The trace of ``a b`` for square matrices."""
    n = a.shape[-1]
    return tabulate(
        a.shape[:-2],
        lambda *p: total([n, n], lambda i, j: a[[*p, i, j]] * b[[*p, j, i]]),
    )


@library_op(
    "_linalg_det(Tensor A) -> Tensor",
    refuses=HALF,
    method=False,
    out=False,
    rare=True,
    autocast="float32",
)
def det(a):
    """The determinants of square matrices."""
    require_square("det", a)
    return library("det", a)[0]


def _det_tangents(a, value, da):
    """Jacobi's formula; cofactors hold for singular matrices too."""
    return (_trace_of_product(library("adjugate", a)[0], da),)


ROUTINES["det"] = Routine(
    "det",
    lambda a: [(a.shape[:-2], a.dtype)],
    numpy_linalg.det,
    graph_rule(_det_tangents),
    core=(2,),
)


def _adjugate_tangents(a, cofactors, da):
    """The tangent of ``det(A) A⁻¹``, for invertible matrices."""
    inverse = inverse_of(a)
    slope = _trace_of_product(cofactors, da)
    wide = unsqueeze(unsqueeze(slope, slope.rank), slope.rank + 1)
    return (wide * inverse - matmul(matmul(cofactors, da), inverse),)


ROUTINES["adjugate"] = Routine(
    "adjugate",
    lambda a: [(a.shape, a.dtype)],
    numpy_linalg.adjugate,
    graph_rule(_adjugate_tangents),
    core=(2,),
)


@library_op(
    "_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)",
    method=False,
    out=False,
    rare=True,
    autocast="float32",
)
def slogdet(a):
    """The determinant's sign, and the logarithm of its absolute value."""
    require_square("slogdet", a)
    return library("slogdet", a)


def _slogdet_tangents(a, sign, logabsdet, da):
    """Jacobi's formula over the determinant: its logarithm's real part is that of the
    size, its imaginary part the angle of the sign.
    """
    slope = _trace_of_product(inverse_of(a), da)
    if not is_complex(a.dtype):
        return None, slope
    return sign * (to(imag(slope), a.dtype) * 1j), real_part(slope)


ROUTINES["slogdet"] = Routine(
    "slogdet",
    lambda a: [(a.shape[:-2], a.dtype), (a.shape[:-2], real_dtype(a.dtype))],
    numpy_linalg.slogdet,
    graph_rule(_slogdet_tangents),
    core=(2,),
)
