"""Orthogonal polynomials: their recurrences (Abramowitz and Stegun 22.7), run up to the
greatest degree requested, each element with its own.
"""

from pellucid_compiler.composites import api, composite, unbatched


def _family(name):
    """Declares a polynomial of ``special`` for tensors and numbers."""

    def declare(body):
        for given, overload in (
            ("Tensor x, Tensor n", ""),
            ("Scalar x, Tensor n", ".x_scalar"),
            ("Tensor x, Scalar n", ".n_scalar"),
        ):
            schema = f"special_{name}{overload}({given}) -> Tensor"
            options = {"namespace": "special", "out": True, "tags": "pointwise"}
            made = composite(schema, **options)(body)
        return made

    return declare


def _evaluated(x, n, first, step):
    """The polynomials that start 1, ``first(x)``; 0 for a negative degree."""
    x, degrees = _operands(x, n)
    before, current = api.ones_like(x), first(x)
    at_one = api.where(degrees == 1, current, 0.0)
    found = api.where(degrees == 0, 1.0, at_one).to(x.dtype)
    for k in range(1, _greatest(degrees)):
        before, current = current, step(k, x, current, before)
        found = api.where(degrees == k + 1, current, found)
    return found


def _operands(x, n):
    """Both as tensors of one shape; a number takes the tensor's dtype."""
    tensors = [t for t in (x, n) if isinstance(t, api.Tensor)]
    dtype = api.result_type(x, n)
    if not dtype.is_floating_point:
        dtype = api.get_default_dtype()
    x, n = (
        t if isinstance(t, api.Tensor) else api.tensor(t, device=tensors[0].device)
        for t in (x, n)
    )
    return api.broadcast_tensors(x.to(dtype), n.long())


def _greatest(degrees):
    """Of all examples, where the function is batched; 0 where no values are."""
    degrees = unbatched(degrees)
    return int(degrees.max()) if degrees.numel() and not degrees.is_meta else 0


def _chebyshev(k, x, p, before):
    return 2 * x * p - before


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
    return _evaluated(x, n, lambda x: x * 1, _chebyshev)


@_family("chebyshev_polynomial_u")
def chebyshev_polynomial_u(x, n):
    """Chebyshev's polynomial U of degree ``n``."""
    return _evaluated(x, n, lambda x: 2 * x, _chebyshev)


@_family("chebyshev_polynomial_v")
def chebyshev_polynomial_v(x, n):
    """Chebyshev's polynomial V of degree ``n``."""
    return _evaluated(x, n, lambda x: 2 * x - 1, _chebyshev)


@_family("chebyshev_polynomial_w")
def chebyshev_polynomial_w(x, n):
    """Chebyshev's polynomial W of degree ``n``."""
    return _evaluated(x, n, lambda x: 2 * x + 1, _chebyshev)


@_family("shifted_chebyshev_polynomial_t")
def shifted_chebyshev_polynomial_t(x, n):
    """Chebyshev's polynomial T of ``2 x - 1``, of degree ``n``."""
    return _evaluated(x, n, lambda x: 2 * x - 1, _shifted_chebyshev)


@_family("shifted_chebyshev_polynomial_u")
def shifted_chebyshev_polynomial_u(x, n):
    """Chebyshev's polynomial U of ``2 x - 1``, of degree ``n``."""
    return _evaluated(x, n, lambda x: 2 * (2 * x - 1), _shifted_chebyshev)


@_family("shifted_chebyshev_polynomial_v")
def shifted_chebyshev_polynomial_v(x, n):
    """Chebyshev's polynomial V of ``2 x - 1``, of degree ``n``."""
    return _evaluated(x, n, lambda x: 2 * (2 * x - 1) - 1, _shifted_chebyshev)


@_family("shifted_chebyshev_polynomial_w")
def shifted_chebyshev_polynomial_w(x, n):
    """Chebyshev's polynomial W of ``2 x - 1``, of degree ``n``."""
    return _evaluated(x, n, lambda x: 2 * (2 * x - 1) + 1, _shifted_chebyshev)


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
