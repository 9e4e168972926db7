"""LAPACK's routines through NumPy, in the dtype of their operands.

``numpy.linalg`` converts float32 and complex64 to double precision before it calls
LAPACK; the ufuncs below it have a loop for every dtype, at half the time and memory.
Only its QR has none. Used by linalg.py.
"""

from typing import Any


def lapack(name: str, *operands: Any) -> Any:
    """The result of the ufunc ``name`` of ``numpy.linalg``.

    Raises ``LinAlgError`` if LAPACK reports a failure, and for eigenvalues and singular
    values of infinite elements, for which LAPACK may not terminate.
    """
    import numpy
    from numpy.linalg import _umath_linalg

    def fail(_error: str, _flag: int) -> None:
        raise numpy.linalg.LinAlgError(f"LAPACK: {name} failed")

    with numpy.errstate(all="ignore", invalid="call", call=fail):
        if name.startswith(("eig", "svd")):
            triangle = {"lo": numpy.tril, "up": numpy.triu}.get(name[-2:])
            read = triangle(operands[0]) if triangle else operands[0]
            if not numpy.isfinite(read).all():
                fail("invalid", 0)
        return getattr(_umath_linalg, name)(*operands)


def svd(a: Any, full_matrices: bool) -> list[Any]:
    """U, the singular values and Vᴴ of every matrix."""
    from numpy.linalg import _umath_linalg

    form = "f" if full_matrices else "s"
    if hasattr(_umath_linalg, "svd_f"):
        return list(lapack(f"svd_{form}", a))
    m, n = a.shape[-2:]  # older NumPys have a ufunc for either longer side
    return list(lapack(f"svd_{'m' if m < n else 'n'}_{form}", a))
