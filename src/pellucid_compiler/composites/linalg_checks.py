"""Checks of operands and of the routines' ``info`` results, for the linalg files."""

from pellucid_compiler.composites import api, require

SINGULAR = "is singular: diagonal element {} of its factor U is zero"
SINGULAR_D = "is singular: diagonal element {} of its factor D is zero"
DEFICIENT = "does not have full rank; take another driver than 'gels'"
INDEFINITE = (
    "is not positive-definite: its leading minor of order {} is not; give a symmetric "
    "matrix with positive eigenvalues"
)


def plain(x):
    """``x`` without wrappers of transforms: all examples of a batch, or the primal."""
    while (unwrapped := api._C._unwrap(x)) is not None:
        x = unwrapped[1]
    return x


def check(name, info, meaning):
    """Raises if a routine reported a failure. ``meaning`` explains the number, which
    replaces ``{}``. Under ``vmap``, raises if any matrix failed. On Meta, nothing
    fails.
    """
    info = plain(info)
    if info.is_meta or not info.any():
        return
    if info.dim():
        place = int(info.reshape(-1).ne(0).nonzero()[0])
        which = f"(Batch element {place}): the matrix"
        number = int(info.reshape(-1)[place])
    else:
        which, number = "the matrix", int(info)
    raise api.linalg.LinAlgError(f"linalg.{name}: {which} {meaning.format(number)}")


def require_float(name, x):
    """Require a floating-point or complex tensor."""
    require(
        x.is_floating_point() or x.is_complex(),
        "{}: Expected a floating point or complex tensor as input. Got {}",
        name,
        x.dtype,
    )


def require_matrices(name, *tensors):
    """Require tensors with two or more dims and one dtype."""
    for x in tensors:
        require(
            x.dim() >= 2,
            "linalg.{}: a tensor of shape {} holds no matrix",
            name,
            x.shape,
        )
    require_one_dtype(name, *tensors)


def require_one_dtype(name, first, *others):
    """Require tensors with the dtype of the first."""
    for x in others:
        require(
            x.dtype == first.dtype,
            "linalg.{}: tensors of {} and {}; convert one of them",
            name,
            first.dtype,
            x.dtype,
        )


def require_pivots(name, pivots, factors):
    """Require pivots that match ``factors``, as ``lu_factor`` returns them."""
    *batch, m, n = factors.shape
    require(
        pivots.dtype == api.int32
        and pivots.dim() == len(batch) + 1
        and pivots.shape[:-1] == tuple(batch)
        and min(m, n) <= pivots.shape[-1] <= m,
        "linalg.{}: pivots of {} and shape {} are not those of lu_factor for factors "
        "of shape {}",
        name,
        pivots.dtype,
        pivots.shape,
        factors.shape,
    )


def require_square(name, x):
    """Require a tensor of square matrices."""
    require(
        x.dim() >= 2 and x.shape[-1] == x.shape[-2],
        "linalg.{}: shape {} holds no square matrix",
        name,
        x.shape,
    )
