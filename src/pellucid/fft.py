"""Discrete Fourier transforms of real and complex tensors.

Sizes, dims and norms are settled here; the transforms are three linear ops
(``catalogue/fourier.py``), so gradients of any order follow. They run by
NumPy, which must be installed. Names, arguments and errors are PyTorch's.
Imported when first asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pellucid
from pellucid._calls.argument_checks import require_tensors
from pellucid._calls.out_argument import write_out
from pellucid._calls.overridable import make_overridable
from pellucid._tensor import Tensor

__all__ = [
    *("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"),
    *("fft2", "ifft2", "rfft2", "irfft2", "hfft2", "ihfft2"),
    *("fftn", "ifftn", "rfftn", "irfftn", "hfftn", "ihfftn"),
    *("fftfreq", "rfftfreq", "fftshift", "ifftshift"),
]

_LAST_TWO = (-2, -1)
# The number of the factor: none, by the root of the count, by the count.
_FACTORS = {
    True: {None: 0, "backward": 0, "ortho": 1, "forward": 2},
    False: {None: 2, "backward": 2, "ortho": 1, "forward": 0},
}


def _factor(norm: str | None, forward: bool) -> int:
    try:
        return _FACTORS[forward][norm]
    except KeyError:
        raise RuntimeError(
            f"fft: there is no norm {norm!r}: give 'forward', 'backward' or 'ortho'"
        ) from None


def _floating(input: Tensor) -> Tensor:
    """Integers in the default dtype."""
    if input.is_floating_point() or input.is_complex():
        return input
    return input.to(pellucid.get_default_dtype())


def _complex(input: Tensor) -> Tensor:
    input = _floating(input)
    return input if input.is_complex() else input.to(input.dtype.to_complex())


def _real(name: str, input: Tensor) -> Tensor:
    if input.is_complex():
        raise RuntimeError(
            f"{name} takes a real tensor, not one of {input.dtype}: give its real "
            "part, or call a complex transform"
        )
    return _floating(input)


def _resized(input: Tensor, dims: Sequence[int], sizes: Sequence[int | None]) -> Tensor:
    """Cut, or filled with zeros behind, along ``dims`` to ``sizes`` (None: as is)."""
    for dim, size in zip(dims, sizes, strict=True):
        if size is None:
            continue
        missing = size - input.size(dim)
        if missing < 0:
            input = input.narrow(dim, 0, size)
        elif missing > 0:
            counts = [0] * (2 * (input.dim() - dim))
            counts[-1] = missing
            input = pellucid.constant_pad_nd(input, counts, 0)
    return input


def _require_points(name: str, counts: Sequence[int]) -> None:
    for count in counts:
        if count < 1:
            raise RuntimeError(f"{name}: there is no transform of {count} points")


def _one(input: Tensor, dim: int) -> int:
    """``dim``, counted from the front."""
    require_tensors("fft", input)
    rank = max(input.dim(), 1)
    if not -rank <= dim < rank:
        raise IndexError(
            f"fft: the dimension {dim} is out of range for a tensor of rank "
            f"{input.dim()}"
        )
    if input.dim() == 0:
        raise IndexError("fft: a tensor of rank 0 has no dimension to transform")
    return dim % rank


def _several(
    name: str, input: Tensor, s: Sequence[int] | None, dim: int | Sequence[int] | None
) -> tuple[list[int], list[int]]:
    """The dims, counted from the front, and the size asked for each."""
    require_tensors(name, input)
    if isinstance(s, int):
        s = (s,)
    if dim is None:
        count = input.dim() if s is None else len(s)
        if count > input.dim():
            raise RuntimeError(
                f"{name}: {count} sizes for a tensor of rank {input.dim()}: give at "
                "most one per dimension"
            )
        dims = list(range(input.dim() - count, input.dim()))
    else:
        given = (dim,) if isinstance(dim, int) else dim
        dims = [_one(input, d) for d in given]
    if len({*dims}) != len(dims):
        raise RuntimeError(f"{name}: the dimensions {dims} repeat: name each once")
    if s is not None and len(s) != len(dims):
        raise RuntimeError(
            f"{name}: {len(s)} sizes for {len(dims)} dimensions: give one for each"
        )
    wanted = [-1] * len(dims) if s is None else s
    sizes = [
        input.size(d) if size == -1 else size
        for d, size in zip(dims, wanted, strict=True)
    ]
    return dims, sizes


def _to_complex(
    name: str,
    input: Tensor,
    dims: list[int],
    sizes: list[int],
    norm: str | None,
    forward: bool,
) -> Tensor:
    factor = _factor(norm, forward)
    input = _floating(input)
    _require_points(name, sizes)
    input = _resized(input, dims, sizes)
    if not input.is_complex() and forward and dims:
        return pellucid._fft_r2c(input, dims, factor, False)
    return pellucid._fft_c2c(_complex(input), dims, factor, forward)


def _to_half(
    name: str, input: Tensor, dims: list[int], sizes: list[int], factor: int
) -> Tensor:
    """The first half along the last of ``dims`` of a real tensor's spectrum."""
    input = _real(name, input)
    if not dims:
        raise RuntimeError(f"{name} transforms at least one dimension: none was given")
    _require_points(name, sizes)
    return pellucid._fft_r2c(_resized(input, dims, sizes), dims, factor, True)


def _from_half(
    name: str,
    input: Tensor,
    dims: list[int],
    sizes: list[int],
    factor: int,
) -> Tensor:
    """The real tensor of ``sizes`` whose half spectrum is ``input``."""
    _require_points(name, sizes)
    halved = [*sizes[:-1], sizes[-1] // 2 + 1]
    input = _resized(_complex(input), dims, halved)
    return pellucid._fft_c2r(input, dims, factor, sizes[-1])


def _whole(
    name: str,
    input: Tensor,
    s: Sequence[int] | None,
    dim: int | Sequence[int] | None,
) -> tuple[list[int], list[int]]:
    """As ``_several``, the last size being that of the real result."""
    dims, sizes = _several(name, input, s, dim)
    if not dims:
        raise RuntimeError(f"{name} transforms at least one dimension: none was given")
    last = None if s is None else (s if isinstance(s, int) else s[-1])
    if last is None or last == -1:
        sizes[-1] = 2 * (input.size(dims[-1]) - 1)
    return dims, sizes


# One dimension


def fft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The spectrum along ``dim``: element j is the sum of ``x[k] e^(-2πi jk/n)``.

    ``n`` cuts the dimension or fills it with zeros. ``norm`` divides by n
    (``"forward"``) or by its root (``"ortho"``); ``"backward"`` leaves that to
    ``ifft``. Raises IndexError for a dimension that is not there, RuntimeError for
    ``n < 1`` or another norm::

        torch.fft.fft(torch.tensor([1.0, 0, 0, 0]))  # four ones
    """
    at = _one(input, dim)
    size = input.size(at) if n is None else n
    return write_out(_to_complex("fft", input, [at], [size], norm, True), out)


def ifft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """What ``fft`` with the same ``norm`` made ``input`` of."""
    at = _one(input, dim)
    size = input.size(at) if n is None else n
    return write_out(_to_complex("ifft", input, [at], [size], norm, False), out)


def rfft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The first ``n // 2 + 1`` elements of a real tensor's spectrum, whose conjugates
    are the others. Raises RuntimeError for complex tensors.
    """
    at = _one(input, dim)
    size = input.size(at) if n is None else n
    factor = _factor(norm, True)
    return write_out(_to_half("rfft", input, [at], [size], factor), out)


def irfft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The ``n`` real numbers whose ``rfft`` is ``input``; ``2 (m - 1)`` of m elements
    unless given.
    """
    at = _one(input, dim)
    size = 2 * (input.size(at) - 1) if n is None else n
    factor = _factor(norm, False)
    return write_out(_from_half("irfft", input, [at], [size], factor), out)


def hfft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The real spectrum of a signal that equals its reversed conjugate and of which
    ``input`` is the first half.
    """
    at = _one(input, dim)
    size = 2 * (input.size(at) - 1) if n is None else n
    factor = _factor(norm, True)
    conjugate = _complex(input).conj()
    return write_out(_from_half("hfft", conjugate, [at], [size], factor), out)


def ihfft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The first half of the signal whose spectrum is the real ``input``."""
    at = _one(input, dim)
    size = input.size(at) if n is None else n
    factor = _factor(norm, False)
    return write_out(_to_half("ihfft", input, [at], [size], factor).conj(), out)


# Several dimensions


def fftn(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: int | Sequence[int] | None = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """``fft`` along each of ``dim``: all of them, or the last ones that ``s`` gives
    sizes of (-1 keeps one). ``norm`` counts the elements of all.
    """
    dims, sizes = _several("fftn", input, s, dim)
    return write_out(_to_complex("fftn", input, dims, sizes, norm, True), out)


def ifftn(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: int | Sequence[int] | None = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """What ``fftn`` with the same ``norm`` made ``input`` of."""
    dims, sizes = _several("ifftn", input, s, dim)
    return write_out(_to_complex("ifftn", input, dims, sizes, norm, False), out)


def rfftn(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: int | Sequence[int] | None = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """``fftn`` of a real tensor, the first half along the last of ``dim``."""
    dims, sizes = _several("rfftn", input, s, dim)
    return write_out(_to_half("rfftn", input, dims, sizes, _factor(norm, True)), out)


def irfftn(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: int | Sequence[int] | None = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The real tensor, of sizes ``s`` along ``dim``, whose ``rfftn`` is ``input``."""
    dims, sizes = _whole("irfftn", input, s, dim)
    factor = _factor(norm, False)
    return write_out(_from_half("irfftn", input, dims, sizes, factor), out)


def hfftn(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: int | Sequence[int] | None = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """``hfft`` along the last of ``dim`` after ``fft`` along the others."""
    dims, sizes = _whole("hfftn", input, s, dim)
    _require_points("hfftn", sizes)
    factor = _factor(norm, True)
    halved = [*sizes[:-1], sizes[-1] // 2 + 1]
    input = _resized(_complex(input), dims, halved)
    *others, last = dims
    if others:
        input = pellucid._fft_c2c(input, others, factor, True)
    found = pellucid._fft_c2r(input.conj(), [last], factor, sizes[-1])
    return write_out(found, out)


def ihfftn(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: int | Sequence[int] | None = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """``ihfft`` along the last of ``dim``, then ``ifft`` along the others."""
    dims, sizes = _several("ihfftn", input, s, dim)
    factor = _factor(norm, False)
    input = _real("ihfftn", input)
    if not dims:
        raise RuntimeError("ihfftn transforms at least one dimension: none was given")
    _require_points("ihfftn", sizes)
    *others, last = dims
    input = _resized(input, dims, sizes)
    found = pellucid._fft_r2c(input, [last], factor, True).conj()
    if others:
        found = pellucid._fft_c2c(found, others, factor, False)
    return write_out(found, out)


# Two dimensions


def fft2(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: Sequence[int] = _LAST_TWO,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """``fftn`` along two dimensions."""
    return fftn(input, s, dim, norm, out=out)


def ifft2(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: Sequence[int] = _LAST_TWO,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """``ifftn`` along two dimensions."""
    return ifftn(input, s, dim, norm, out=out)


def rfft2(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: Sequence[int] = _LAST_TWO,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """``rfftn`` along two dimensions."""
    return rfftn(input, s, dim, norm, out=out)


def irfft2(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: Sequence[int] = _LAST_TWO,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """``irfftn`` along two dimensions."""
    return irfftn(input, s, dim, norm, out=out)


def hfft2(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: Sequence[int] = _LAST_TWO,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """``hfftn`` along two dimensions."""
    return hfftn(input, s, dim, norm, out=out)


def ihfft2(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: Sequence[int] = _LAST_TWO,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """``ihfftn`` along two dimensions."""
    return ihfftn(input, s, dim, norm, out=out)


# Frequencies


def fftfreq(
    n: int, d: float = 1.0, *, out: Tensor | None = None, **options: Any
) -> Tensor:
    """The frequencies of the elements of ``fft``'s result for samples ``d`` apart:
    0, 1, ... and then the negative ones, over ``n d``.
    """
    middle = (n + 1) // 2
    return _frequencies([*range(middle), *range(middle - n, 0)], n * d, out, **options)


def rfftfreq(
    n: int, d: float = 1.0, *, out: Tensor | None = None, **options: Any
) -> Tensor:
    """The frequencies of the elements of ``rfft``'s result: none is negative."""
    return _frequencies(range(n // 2 + 1), n * d, out, **options)


def _frequencies(
    counts: Sequence[int],
    span: float,
    out: Tensor | None,
    *,
    dtype: Any = None,
    requires_grad: bool = False,
    **options: Any,
) -> Tensor:
    """``counts`` over ``span``."""
    dtype = dtype or pellucid.get_default_dtype()
    found = pellucid.tensor(list(counts), dtype=dtype, **options) * (1.0 / span)
    found.requires_grad = requires_grad
    return write_out(found, out)


def fftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """The halves exchanged along ``dim`` (all of them), so that the frequency 0 is in
    the middle.
    """
    dims, sizes = _several("fftshift", input, None, dim)
    return pellucid.roll(input, [n // 2 for n in sizes], dims)


def ifftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """What ``fftshift`` made ``input`` of."""
    dims, sizes = _several("ifftshift", input, None, dim)
    return pellucid.roll(input, [(n + 1) // 2 for n in sizes], dims)


make_overridable(globals())
