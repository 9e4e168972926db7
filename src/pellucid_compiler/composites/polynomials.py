"""Orthogonal polynomials by recurrences (Abramowitz and Stegun 22.7), up to the
greatest of the elements' degrees.
"""

from pellucid_compiler.composites import any_true, api, composite, require, unbatched

_LONG = 64  # the degree from which closed forms are used


def _family(name):
    """Declares a polynomial of ``special`` for tensors and numbers."""

    def declare(body):
        for arguments, overload in (
            ("Tensor x, Tensor n", ""),
            ("Scalar x, Tensor n", ".x_scalar"),
            ("Tensor x, Scalar n", ".n_scalar"),
        ):
            schema = f"special_{name}{overload}({arguments}) -> Tensor"
            options = {"namespace": "special", "out": True, "tags": "pointwise"}
            declared = composite(schema, **options)(body)
        return declared

    return declare


def _evaluated(x, n, first, step, closed=None):
    """The polynomials that start 1, ``first(x)``; 0 for a negative degree.

    ``closed(x, n)`` are the values for high degrees and a mask of where they hold:
    where the recurrence stays finite and would take ``n`` steps. Elsewhere it ends at
    infinity.
    """
    x, degrees = _operands(x, n)
    before, current = api.ones_like(x), first(x)
    at_one = api.where(degrees == 1, current, 0.0)
    result = api.where(degrees == 0, 1.0, at_one).to(x.dtype)
    last = _greatest(degrees)
    if closed is not None and last > _LONG:
        value, inside = closed(x, degrees)
        known = (degrees > _LONG) & inside
        result = api.where(known, value, result)
        degrees = degrees.masked_fill(known, 0)
        last = _greatest(degrees)
    for k in range(1, last):
        before, current = current, step(k, x, current, before)
        result = api.where(degrees == k + 1, current, result)
        if k % _LONG == 0 and not any_true((degrees > k) & current.isfinite()):
            return api.where(degrees > k + 1, current, result)
    return result


def _operands(x, n):
    """Both as tensors of one shape; a number is converted to the tensor's dtype."""
    tensors = [t for t in (x, n) if isinstance(t, api.Tensor)]
    dtype = api.result_type(x, n)
    if not (dtype.is_floating_point or dtype.is_complex):
        dtype = api.get_default_dtype()
    require(
        dtype in (api.float32, api.float64),
        "this polynomial is computed of float32 and float64, not of {}",
        dtype,
        error=NotImplementedError,
    )
    x, n = (
        t if isinstance(t, api.Tensor) else api.tensor(t, device=tensors[0].device)
        for t in (x, n)
    )
    return api.broadcast_tensors(x.to(dtype), n.long())


def _greatest(degrees):
    """The greatest degree over all examples of a batched function; 0 on Meta."""
    degrees = unbatched(degrees)
    return int(degrees.max()) if degrees.numel() and not degrees.is_meta else 0


def _chebyshev(k, x, p, before):
    return 2 * x * p - before


def _of_angle(numerator, denominator, at_end):
    """A Chebyshev polynomial of high degree within [-1, 1]: a quotient of functions of
    ``n`` and the angle ``acos(x)``; at -1 and 1 ``at_end(x, n)``.
    """

    def closed(x, n):
        angle = api.acos(x.clamp(-1, 1))
        at_ends = x.abs() == 1
        inside = numerator(n, angle) / api.where(at_ends, 1.0, denominator(angle))
        return api.where(at_ends, at_end(x, n).to(x.dtype), inside), x.abs() <= 1

    return closed


def _power_of(x, n):
    """``x ** n`` for x of -1 or 1."""
    return api.where((x > 0) | (n % 2 == 0), 1.0, -1.0)


_T = _of_angle(lambda n, a: (n * a).cos(), lambda a: 1.0, _power_of)
_U = _of_angle(
    lambda n, a: ((n + 1) * a).sin(),
    lambda a: a.sin(),
    lambda x, n: (n + 1) * _power_of(x, n),
)
_V = _of_angle(
    lambda n, a: ((n + 0.5) * a).cos(),
    lambda a: (0.5 * a).cos(),
    lambda x, n: api.where(x > 0, 1.0, (2 * n + 1) * _power_of(x, n)),
)
_W = _of_angle(
    lambda n, a: ((n + 0.5) * a).sin(),
    lambda a: (0.5 * a).sin(),
    lambda x, n: api.where(x > 0, 2 * n + 1, _power_of(x, n)),
)


def _shifted(closed):
    return lambda x, n: closed(2 * x - 1, n)


def _shifted_chebyshev(k, x, p, before):
    return _chebyshev(k, 2 * x - 1, p, before)


def _hermite(k, x, p, before):
    return 2 * x * p - 2 * k * before


def _hermite_e(k, x, p, before):
    return x * p - k * before


def _laguerre(k, x, p, before):
    return ((2 * k + 1 - x) * p - k * before) / (k + 1)


def _legendre(k, x, p, before):
    return ((2 * k + 1) * x * p - k * before) / (k + 1)


@_family("chebyshev_polynomial_t")
def chebyshev_polynomial_t(x, n):
    """Chebyshev's polynomial T of degree ``n``."""
    return _evaluated(x, n, lambda x: x * 1, _chebyshev, _T)


@_family("chebyshev_polynomial_u")
def chebyshev_polynomial_u(x, n):
    """Chebyshev's polynomial U of degree ``n``."""
    return _evaluated(x, n, lambda x: 2 * x, _chebyshev, _U)


@_family("chebyshev_polynomial_v")
def chebyshev_polynomial_v(x, n):
    """Chebyshev's polynomial V of degree ``n``."""
    return _evaluated(x, n, lambda x: 2 * x - 1, _chebyshev, _V)


@_family("chebyshev_polynomial_w")
def chebyshev_polynomial_w(x, n):
    """Chebyshev's polynomial W of degree ``n``."""
    return _evaluated(x, n, lambda x: 2 * x + 1, _chebyshev, _W)


@_family("shifted_chebyshev_polynomial_t")
def shifted_chebyshev_polynomial_t(x, n):
    """Chebyshev's polynomial T of ``2 x - 1``, of degree ``n``."""
    return _evaluated(x, n, lambda x: 2 * x - 1, _shifted_chebyshev, _shifted(_T))


@_family("shifted_chebyshev_polynomial_u")
def shifted_chebyshev_polynomial_u(x, n):
    """Chebyshev's polynomial U of ``2 x - 1``, of degree ``n``."""
    return _evaluated(x, n, lambda x: 2 * (2 * x - 1), _shifted_chebyshev, _shifted(_U))


@_family("shifted_chebyshev_polynomial_v")
def shifted_chebyshev_polynomial_v(x, n):
    """Chebyshev's polynomial V of ``2 x - 1``, of degree ``n``."""
    return _evaluated(
        x, n, lambda x: 2 * (2 * x - 1) - 1, _shifted_chebyshev, _shifted(_V)
    )


@_family("shifted_chebyshev_polynomial_w")
def shifted_chebyshev_polynomial_w(x, n):
    """Chebyshev's polynomial W of ``2 x - 1``, of degree ``n``."""
    return _evaluated(
        x, n, lambda x: 2 * (2 * x - 1) + 1, _shifted_chebyshev, _shifted(_W)
    )


@_family("hermite_polynomial_h")
def hermite_polynomial_h(x, n):
    """Hermite's polynomial H of degree ``n``."""
    return _evaluated(x, n, lambda x: 2 * x, _hermite)


@_family("hermite_polynomial_he")
def hermite_polynomial_he(x, n):
    """Hermite's polynomial He of degree ``n``."""
    return _evaluated(x, n, lambda x: x * 1, _hermite_e)


@_family("laguerre_polynomial_l")
def laguerre_polynomial_l(x, n):
    """Laguerre's polynomial L of degree ``n``."""
    return _evaluated(x, n, lambda x: 1 - x, _laguerre)


@_family("legendre_polynomial_p")
def legendre_polynomial_p(x, n):
    """Legendre's polynomial P of degree ``n``."""
    return _evaluated(x, n, lambda x: x * 1, _legendre)
