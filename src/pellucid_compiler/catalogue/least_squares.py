"""Least squares by a library routine; ``composites/linalg_solutions.py`` handles shapes
and the other results of PyTorch's drivers.
"""

from pellucid_compiler.catalogue.contraction import matmul
from pellucid_compiler.catalogue.factorizations import adjoint, require_matrices
from pellucid_compiler.catalogue.routines import linalg as numpy_linalg
from pellucid_compiler.declare import (
    ROUTINES,
    Routine,
    broadcast_shapes,
    detach,
    graph_rule,
    greatest,
    library,
    library_op,
    require,
    tabulate,
)
from pellucid_compiler.ir.dtypes import real_dtype


@library_op(
    "pellucid::_linalg_lstsq(Tensor A, Tensor B, Tensor rcond) -> (Tensor solution, "
    "Tensor rank)",
    method=False,
    rare=True,
    autocast="float32",
)
def lstsq(a, b, rcond):
    """The smallest X that minimises ``|A X - B|``, and the rank: columns whose diagonal
    element of R is below ``rcond`` times the largest do not count.
    """
    require_matrices("lstsq", a, b)
    require(
        a.dtype == b.dtype and rcond.dtype == real_dtype(a.dtype),
        f"lstsq: A is {a.dtype}, B {b.dtype} and rcond {rcond.dtype}",
    )
    require(
        a.shape[-2] == b.shape[-2],
        "lstsq: a matrix of {} rows for {} rows of B",
        a.shape[-2],
        b.shape[-2],
    )
    return library("lstsq", a, b, detach(rcond))


def _types(a, b, rcond):
    batch = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return [((*batch, a.shape[-1], b.shape[-1]), b.dtype), (batch, "int64")]


def _tangents(a, b, rcond, x, rank, da, db, _):
    """Golub and Pereyra 1973: for a rank that does not change."""
    values = library("svdvals", a)[0]
    size = values.shape[-1]
    largest = tabulate(
        values.shape[:-1], lambda *p: greatest([size], lambda k: values[[*p, k]])
    )
    cutoff = tabulate(largest.shape, lambda *p: rcond[()] * largest[p])
    inverse = library("pinv", a, cutoff, hermitian=False)[0]
    moved = db
    if da is not None:
        moved = -matmul(da, x) if db is None else db - matmul(da, x)
    tangent = matmul(inverse, moved)
    if da is not None:
        gap, adjoint_a = b - matmul(a, x), adjoint(da)
        tangent = tangent + matmul(
            matmul(inverse, adjoint(inverse)), matmul(adjoint_a, gap)
        )
        normal = matmul(adjoint_a, matmul(adjoint(inverse), x))
        tangent = tangent + normal - matmul(matmul(inverse, a), normal)
    return tangent, None


ROUTINES["lstsq"] = Routine(
    "lstsq", _types, numpy_linalg.lstsq, graph_rule(_tangents), core=(2, 2, 0)
)
