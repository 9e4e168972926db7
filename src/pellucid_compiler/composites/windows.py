"""Window functions, periodic by default: older forms of ``signal.windows``, with its
formulas.
"""

from pellucid_compiler.composites import api, composite, require

_OPTIONS = (
    "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None"
)


def _window_op(name, overload, arguments):
    """Declares a form of a window and its ``out=`` form."""
    head = f"{name}.{overload}" if overload else name
    out = f"{overload}_out" if overload else "out"
    return composite(
        f"{head}({arguments}, {_OPTIONS}) -> Tensor",
        forms=(f"{name}.{out}({arguments}, *, Tensor(a!) out) -> Tensor(a!)",),
        method=False,
    )


def _window(name, length, periodic, dtype, device, pin_memory, **options):
    """A window of ``signal.windows``; of half precision, rounded once."""
    require(length >= 0, "{}_window of {} points", name, length)
    dtype = dtype or api.get_default_dtype()
    require(
        dtype.is_floating_point,
        "{}_window is made of floating-point numbers, not {}",
        name,
        dtype,
    )
    wide = dtype if dtype in (api.float32, api.float64) else api.float32
    make = getattr(api.signal.windows, name)
    options.update(sym=not periodic, dtype=wide, device=device)
    found = make(length, **options).to(dtype)
    return found.pin_memory() if pin_memory else found


@_window_op("bartlett_window", "", "int window_length")
@_window_op("bartlett_window", "periodic", "int window_length, bool periodic")
def bartlett_window(length, periodic=True, *, dtype, layout, device, pin_memory):
    """A window that is a triangle: 0 at the ends, 1 in the middle."""
    return _window("bartlett", length, periodic, dtype, device, pin_memory)


@_window_op("blackman_window", "", "int window_length")
@_window_op("blackman_window", "periodic", "int window_length, bool periodic")
def blackman_window(length, periodic=True, *, dtype, layout, device, pin_memory):
    """``0.42 - 0.5 cos(2 π k / steps) + 0.08 cos(4 π k / steps)``."""
    return _window("blackman", length, periodic, dtype, device, pin_memory)


@_window_op("hann_window", "", "int window_length")
@_window_op("hann_window", "periodic", "int window_length, bool periodic")
def hann_window(length, periodic=True, *, dtype, layout, device, pin_memory):
    """``(1 - cos(2 π k / steps)) / 2``."""
    return _window("hann", length, periodic, dtype, device, pin_memory)


_HAMMING = "int window_length, bool periodic, float alpha"


@_window_op("hamming_window", "", "int window_length")
@_window_op("hamming_window", "periodic", "int window_length, bool periodic")
@_window_op("hamming_window", "periodic_alpha", _HAMMING)
@_window_op("hamming_window", "periodic_alpha_beta", f"{_HAMMING}, float beta")
def hamming_window(
    length,
    periodic=True,
    alpha=0.54,
    beta=0.46,
    *,
    dtype,
    layout,
    device,
    pin_memory,
):
    """``alpha - beta cos(2 π k / steps)``."""
    weights = [alpha, beta]
    return _window(
        "general_cosine", length, periodic, dtype, device, pin_memory, a=weights
    )


@_window_op("kaiser_window", "", "int window_length")
@_window_op("kaiser_window", "periodic", "int window_length, bool periodic")
@_window_op("kaiser_window", "beta", "int window_length, bool periodic, float beta")
def kaiser_window(
    length, periodic=True, beta=12.0, *, dtype, layout, device, pin_memory
):
    """``I0(beta sqrt(1 - t²)) / I0(beta)`` with t from -1 to 1."""
    return _window(
        "kaiser", length, periodic, dtype, device, pin_memory, beta=abs(beta)
    )
