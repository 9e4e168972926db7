"""LDL factors of symmetric matrices, which need not be definite, and their solutions.

The routines are specified in routines/ldl.py. Neither op has a derivative, as in
PyTorch.
"""

from pellucid_compiler.catalogue.factorizations import require_matrices, require_square
from pellucid_compiler.catalogue.routines import ldl as numpy_ldl
from pellucid_compiler.declare import (
    ROUTINES,
    Routine,
    broadcast_shapes,
    library,
    library_op,
    require,
    to,
)
from pellucid_compiler.ir.dtypes import HALF


@library_op(
    "pellucid::_linalg_ldl(Tensor A, bool hermitian=False) -> (Tensor LD, Tensor "
    "pivots, "
    "Tensor info)",
    refuses=HALF,
    method=False,
    rare=True,
    autocast="float32",
)
def ldl(a, hermitian):
    """L and D in one lower triangle, the rows exchanged (from 1, negative for blocks of
    two rows), and info as LAPACK's sytrf reports it.
    """
    require_square("ldl_factor", a)
    return library("ldl", a, hermitian=hermitian)


ROUTINES["ldl"] = Routine(
    "ldl",
    lambda a, hermitian: [
        (a.shape, a.dtype),
        (a.shape[:-1], "int32"),
        (a.shape[:-2], "int32"),
    ],
    numpy_ldl.ldl,
    core=(2,),
)


@library_op(
    "linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) "
    "-> Tensor",
    refuses=HALF,
    method=False,
    namespace="linalg",
    rare=True,
    autocast="float32",
    casts_out=False,
)
def ldl_solve(packed, pivots, b, hermitian):
    """X with ``A X = B`` for the A that was factored."""
    require_square("ldl_solve", packed)
    require_matrices("ldl_solve", b)
    require(
        packed.dtype == b.dtype,
        f"ldl_solve: LD is {packed.dtype} and B {b.dtype}; convert one of them",
    )
    require(
        pivots.dtype.startswith("int") and pivots.rank == packed.rank - 1,
        f"ldl_solve: pivots are integers of rank {packed.rank - 1}, not {pivots.dtype} "
        f"of rank {pivots.rank}",
    )
    for size, pivot in zip(packed.shape, pivots.shape, strict=False):
        require(size == pivot, "ldl_solve: {} pivots for {} rows", pivot, size)
    require(
        packed.shape[-1] == b.shape[-2],
        "ldl_solve: a matrix of {} columns for {} rows of B",
        packed.shape[-1],
        b.shape[-2],
    )
    return library("ldl_solve", packed, to(pivots, "int64"), b, hermitian=hermitian)[0]


def _solve_types(packed, pivots, b, hermitian):
    batch = broadcast_shapes(packed.shape[:-2], b.shape[:-2])
    return [((*batch, *b.shape[-2:]), b.dtype)]


ROUTINES["ldl_solve"] = Routine(
    "ldl_solve", _solve_types, numpy_ldl.ldl_solve, core=(2, 1, 2)
)
