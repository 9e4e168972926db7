"""Discrete Fourier transforms of several dimensions by runtime/library/fourier.cpp.

``composites/fourier.py`` uses the three ops: complex to complex, real to half spectrum,
half spectrum to real. Each routine is linear, so it is its own tangent, and its
transpose is a transform in the opposite direction.
"""

from pellucid_compiler.composites import api
from pellucid_compiler.declare import (
    library,
    library_op,
    linear_routine,
    real,
    require,
    tabulate,
    to,
    where,
    wrap_dim,
)

_PARTS = {"float32": "complex64", "float64": "complex128"}
_REALS = {whole: part for part, whole in _PARTS.items()}

# NumPy's names of the normalizations: none, by the root of the count, by the count.
_FORWARD = ("backward", "ortho", "forward")
_INVERSE = ("forward", "ortho", "backward")
_OPPOSITE = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def _require(name, x, dtypes):
    require(
        x.dtype in dtypes,
        f"{name} takes tensors of {' or '.join(dtypes)}, not {x.dtype}",
    )


def _negative(x, dims):
    """Dims counted from the last one, so that new leading dims do not change them; as a
    string, since a Plan stores numbers and strings of a routine.
    """
    require(not dims or x.rank > 0, "a transform along dims needs a tensor with dims")
    return " ".join(str(wrap_dim(d, x.rank) - x.rank) for d in dims)


def _numbers(dims):
    return [int(d) for d in dims.split()]


def _core(dims, **_):
    """An example has the dims from the first transformed one on."""
    return (max((-d for d in _numbers(dims)), default=0),)


def _called(routine, x, **options):
    return library(routine, x, **options)[0]


# Complex to complex


@library_op(
    "_fft_c2c(Tensor self, int[] dim, int normalization, bool forward) -> Tensor",
    method=False,
    rare=True,
    autocast="float32",
    backward="_fft_c2c(forward=not forward)",
)
def fft_c2c(x, dim, normalization, forward):
    """The sums of ``x[k] e^(∓2πi jk/n)`` along ``dim`` (Cooley and Tukey 1965)."""
    _require("_fft_c2c", x, _REALS)
    norm = (_FORWARD if forward else _INVERSE)[normalization]
    return _called("fft", x, dims=_negative(x, dim), norm=norm, forward=forward)


def _fft_types(x, dims, norm, forward):
    return [(x.shape, x.dtype)]


def _fft(x, dims, norm, forward):
    import numpy

    transform = numpy.fft.fftn if forward else numpy.fft.ifftn
    return [transform(x, axes=_numbers(dims), norm=norm) if dims else x]


def _fft_transposed(grad, shape, dims, norm, forward):
    """The conjugate transpose: the opposite direction with the same factor."""
    return _called("fft", grad, dims=dims, norm=_OPPOSITE[norm], forward=not forward)


linear_routine("fft", _fft_types, _fft, _fft_transposed, _core)


# Real to half a spectrum


@library_op(
    "_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor",
    method=False,
    rare=True,
    autocast="float32",
    core=True,
)
def fft_r2c(x, dim, normalization, onesided):
    """The spectrum of real numbers; if ``onesided``, only its first half along the last
    of ``dim``, which determines the other half.
    """
    _require("_fft_r2c", x, _PARTS)
    options = {"dims": _negative(x, dim), "norm": _FORWARD[normalization]}
    if onesided:
        return _called("rfft", x, **options)
    return _called("fft", to(x, _PARTS[x.dtype]), **options, forward=True)


def _seen_of_spectrum(grad, size, dim, normalization, onesided):
    if onesided:
        last = dim[-1]
        spectrum = grad.new_zeros(size)
        spectrum.narrow(last, 0, grad.shape[last]).copy_(grad)
    else:
        spectrum = grad
    back = api.ops.aten._fft_c2c.default(spectrum, dim, normalization, False)
    return back.real


fft_r2c.gradients_seen_as(self=_seen_of_spectrum)


def _along(shape, dim, size):
    """``shape`` with another size along one dim."""
    sizes = list(shape)
    sizes[dim] = size
    return sizes


def _rfft_types(x, dims, norm):
    last = _numbers(dims)[-1]
    half = x.shape[last] // 2 + 1
    return [(_along(x.shape, last, half), _PARTS[x.dtype])]


def _rfft(x, dims, norm):
    import numpy

    return [numpy.fft.rfftn(x, axes=_numbers(dims), norm=norm)]


def _rfft_transposed(grad, shape, dims, norm):
    """Omitted frequencies have zero gradient, and the result is real."""
    whole = tabulate(shape, lambda *p: grad.outside(0)[p])
    back = _called("fft", whole, dims=dims, norm=_OPPOSITE[norm], forward=False)
    return tabulate(shape, lambda *p: real(back[p]))


linear_routine("rfft", _rfft_types, _rfft, _rfft_transposed, _core)


# Half a spectrum to real


@library_op(
    "_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) "
    "-> Tensor",
    method=False,
    rare=True,
    autocast="float32",
    core=True,
)
def fft_c2r(x, dim, normalization, last_dim_size):
    """The real numbers whose spectrum is ``x`` along the last of ``dim``, completed
    by the conjugates of its elements.
    """
    _require("_fft_c2r", x, _REALS)
    require(
        x.shape[dim[-1]] == last_dim_size // 2 + 1,
        "_fft_c2r: {} frequencies do not make {} real numbers",
        x.shape[dim[-1]],
        last_dim_size,
    )
    options = {"dims": _negative(x, dim), "norm": _INVERSE[normalization]}
    return _called("irfft", x, **options, size=last_dim_size)


def _seen_of_reals(grad, size, dim, normalization):
    half = api.ops.aten._fft_r2c.default(grad, dim, normalization, True)
    twice = grad.shape[dim[-1]] - half.shape[dim[-1]]  # those with a conjugate
    if twice > 0:
        half.narrow(dim[-1], 1, twice).mul_(2)
    return half


fft_c2r.gradients_seen_as(self=_seen_of_reals)


def _irfft_types(x, dims, norm, size):
    return [(_along(x.shape, _numbers(dims)[-1], size), _REALS[x.dtype])]


def _irfft(x, dims, norm, size):
    import numpy

    axes = _numbers(dims)
    sizes = [*(x.shape[d] for d in axes[:-1]), size]
    return [numpy.fft.irfftn(x, sizes, axes=axes, norm=norm)]


def _irfft_transposed(grad, shape, dims, norm, size):
    """Frequencies whose conjugates are part of the spectrum have weight 2."""
    half = _called("rfft", grad, dims=dims, norm=_OPPOSITE[norm])

    def weighted(*p):
        frequency = p[_numbers(dims)[-1]]
        alone = (frequency == 0) | (frequency * 2 == size)
        return half[p] * where(alone, 1.0, 2.0)

    return tabulate(half.shape, weighted)


linear_routine("irfft", _irfft_types, _irfft, _irfft_transposed, _core)
