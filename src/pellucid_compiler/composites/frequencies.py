"""The frequencies of Fourier transforms, and their order."""

import math

from pellucid_compiler.composites import api, composite, require
from pellucid_compiler.composites.fourier import dims_and_sizes

_OPTIONS = (
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None"
)


@composite(
    f"fft_fftfreq(int n, float d=1., *, {_OPTIONS}) -> Tensor",
    namespace="fft",
    forms=("fft_fftfreq.out(int n, float d=1., *, Tensor(a!) out) -> Tensor(a!)",),
    seen=True,
)
def fftfreq(n, d, **options):
    """The frequencies of the elements of ``fft``'s result for samples ``d`` apart: 0,
    1, ... and then the negative ones, divided by ``n d``.
    """
    places = api.arange(n, **_floating("fftfreq", options))
    negative = places >= (n + 1) // 2
    return _over(api.where(negative, places - n, places), n * d)


@composite(
    f"fft_rfftfreq(int n, float d=1., *, {_OPTIONS}) -> Tensor",
    namespace="fft",
    forms=("fft_rfftfreq.out(int n, float d=1., *, Tensor(a!) out) -> Tensor(a!)",),
    seen=True,
)
def rfftfreq(n, d, **options):
    """The frequencies of the elements of ``rfft``'s result, which are not negative."""
    count = math.trunc(n / 2) + 1  # PyTorch has a frequency for -1, too
    return _over(api.arange(count, **_floating("rfftfreq", options)), n * d)


def _floating(name, options):
    dtype = options["dtype"] or api.get_default_dtype()
    require(
        dtype.is_floating_point or dtype.is_complex,
        "{} is made of floating-point numbers, not {}",
        name,
        dtype,
    )
    return {**options, "dtype": dtype}


def _over(counts, span):
    return counts * (1.0 / span if span else float("inf"))


@composite("fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor", namespace="fft")
def fftshift(x, dim):
    """The halves swapped along ``dim`` (by default all), so that the frequency 0 is in
    the middle.
    """
    dims, sizes = dims_and_sizes("fftshift", x, None, dim)
    return api.roll(x, [n // 2 for n in sizes], dims)


@composite("fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor", namespace="fft")
def ifftshift(x, dim):
    """The inverse of ``fftshift``."""
    dims, sizes = dims_and_sizes("ifftshift", x, None, dim)
    return api.roll(x, [(n + 1) // 2 for n in sizes], dims)
