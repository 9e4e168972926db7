"""Orthogonal polynomials: their recurrences (Abramowitz and Stegun 22.7), run up to the
greatest degree that is asked for, each element keeping its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._calls.argument_checks import unwrapped

__all__ = [
    "chebyshev_polynomial_t",
    "chebyshev_polynomial_u",
    "chebyshev_polynomial_v",
    "chebyshev_polynomial_w",
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
    "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
]

# (k, x, p_k, p_k-1) to p_k+1
_Step = Callable[[int, Tensor, Tensor, Tensor], Tensor]


def _polynomial(
    name: str, what: str, first: Callable[[Tensor], Tensor], step: _Step
) -> Callable[..., Tensor]:
    """The function of a family that starts 1, ``first(x)``."""

    def polynomial(input: Any, n: Any, *, out: Tensor | None = None) -> Tensor:
        result = _evaluated(input, n, first, step)
        return result if out is None else out.copy_(result)

    polynomial.__name__ = name
    polynomial.__doc__ = f"{what} of degree ``n``; 0 for a negative degree."
    return polynomial


def _evaluated(
    input: Any, n: Any, first: Callable[[Tensor], Tensor], step: _Step
) -> Tensor:
    x = input if isinstance(input, Tensor) else pellucid.tensor(float(input))
    degree = n if isinstance(n, Tensor) else pellucid.tensor(n)
    dtype = pellucid.promote_types(x.dtype, degree.dtype)
    if not isinstance(n, Tensor):
        dtype = x.dtype
    elif not isinstance(input, Tensor):
        dtype = degree.dtype
    if not dtype.is_floating_point:
        dtype = pellucid.get_default_dtype()
    x, whole = pellucid.broadcast_tensors(x.to(dtype), degree.trunc().long())
    before, current = pellucid.ones_like(x), first(x)
    found = pellucid.where(whole == 0, 1.0, pellucid.where(whole == 1, current, 0.0))
    found = found.to(dtype)
    degrees = unwrapped(whole)  # of all examples, where the function is batched
    for k in range(1, int(degrees.max()) if degrees.numel() else 0):
        before, current = current, step(k, x, current, before)
        found = pellucid.where(whole == k + 1, current, found)
    return found


def _chebyshev(k: int, x: Tensor, p: Tensor, before: Tensor) -> Tensor:
    return 2 * x * p - before


def _shifted(first: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    return lambda x: first(2 * x - 1)


def _shifted_chebyshev(k: int, x: Tensor, p: Tensor, before: Tensor) -> Tensor:
    return _chebyshev(k, 2 * x - 1, p, before)


def _hermite(k: int, x: Tensor, p: Tensor, before: Tensor) -> Tensor:
    return 2 * x * p - 2 * k * before


def _hermite_e(k: int, x: Tensor, p: Tensor, before: Tensor) -> Tensor:
    return x * p - k * before


def _laguerre(k: int, x: Tensor, p: Tensor, before: Tensor) -> Tensor:
    return ((2 * k + 1 - x) * p - k * before) / (k + 1)


def _legendre(k: int, x: Tensor, p: Tensor, before: Tensor) -> Tensor:
    return ((2 * k + 1) * x * p - k * before) / (k + 1)


_FIRST: dict[str, Callable[[Tensor], Tensor]] = {
    "t": lambda x: x * 1,
    "u": lambda x: 2 * x,
    "v": lambda x: 2 * x - 1,
    "w": lambda x: 2 * x + 1,
}


def _of_chebyshev(kind: str, shifted: bool) -> Callable[..., Tensor]:
    name = f"chebyshev_polynomial_{kind}"
    what = f"Chebyshev's polynomial {kind.upper()}"
    first = _FIRST[kind]
    if not shifted:
        return _polynomial(name, what, first, _chebyshev)
    what += " of ``2 x - 1``"
    return _polynomial(f"shifted_{name}", what, _shifted(first), _shifted_chebyshev)


chebyshev_polynomial_t = _of_chebyshev("t", False)
chebyshev_polynomial_u = _of_chebyshev("u", False)
chebyshev_polynomial_v = _of_chebyshev("v", False)
chebyshev_polynomial_w = _of_chebyshev("w", False)
shifted_chebyshev_polynomial_t = _of_chebyshev("t", True)
shifted_chebyshev_polynomial_u = _of_chebyshev("u", True)
shifted_chebyshev_polynomial_v = _of_chebyshev("v", True)
shifted_chebyshev_polynomial_w = _of_chebyshev("w", True)
hermite_polynomial_h = _polynomial(
    "hermite_polynomial_h", "Hermite's polynomial H", lambda x: 2 * x, _hermite
)
hermite_polynomial_he = _polynomial(
    "hermite_polynomial_he", "Hermite's polynomial He", lambda x: x * 1, _hermite_e
)
laguerre_polynomial_l = _polynomial(
    "laguerre_polynomial_l", "Laguerre's polynomial L", lambda x: 1 - x, _laguerre
)
legendre_polynomial_p = _polynomial(
    "legendre_polynomial_p", "Legendre's polynomial P", lambda x: x * 1, _legendre
)
