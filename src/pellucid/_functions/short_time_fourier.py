"""Spectra of short pieces of a signal: ``stft`` and its inverse.

Compositions of framing, windows and the transforms of ``pellucid.fft``. Functions of
the package and methods of Tensor, imported when first asked for.
"""

from __future__ import annotations

import pellucid
from pellucid._calls.deprecation import advise, deprecated
from pellucid._tensor import Tensor

# A sum of squared windows below this cannot be divided by.
_LEAST_ENVELOPE = 1e-11


def _settled(
    name: str,
    n_fft: int,
    hop_length: int | None,
    win_length: int | None,
    window: Tensor | None,
) -> tuple[int, int]:
    """The steps between pieces and the length of the window."""
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    if hop <= 0:
        raise RuntimeError(f"{name}: pieces {hop} apart; hop_length is 1 or more")
    if not 0 < length <= n_fft:
        raise RuntimeError(
            f"{name}: a window of {length} points does not fit n_fft={n_fft}: "
            "win_length is between 1 and n_fft"
        )
    if window is not None and window.shape != (length,):
        raise RuntimeError(
            f"{name}: a window of shape {tuple(window.shape)} where ({length},) was "
            "expected: win_length is its length"
        )
    return hop, length


def _filled(window: Tensor | None, length: int, n_fft: int, like: Tensor) -> Tensor:
    """The window with zeros on both sides up to ``n_fft``; ones without a window."""
    if window is None:
        dtype = like.dtype.to_real()
        window = pellucid.ones(length, dtype=dtype, device=like.device)
    left = (n_fft - length) // 2
    return pellucid.constant_pad_nd(window, [left, n_fft - length - left], 0)


def _advise_window(name: str, window: Tensor | None) -> None:
    if window is None:
        advise(
            f"{name} without a window takes all points alike, so that frequencies leak "
            "into others; give one, such as hann_window(n_fft)",
            stacklevel=3,
        )


def _returns_complex(
    input: Tensor, window: Tensor | None, return_complex: bool | None
) -> bool:
    is_complex = input.is_complex() or (window is not None and window.is_complex())
    if return_complex is None and not is_complex:
        raise RuntimeError(
            "stft of a real signal needs return_complex: give True for complex "
            "numbers, False for pairs along a last dimension"
        )
    return return_complex is None or return_complex


def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """The spectra of windowed pieces of ``n_fft`` points, ``hop_length`` apart, of
    signals of shape (time) or (batch, time): (batch, frequencies, pieces).

    With ``center`` the signal is padded so that piece t is around ``t * hop_length``.
    The first half of the frequencies with ``onesided``, the default of real signals.
    Raises RuntimeError for other shapes and windows that do not fit::

        signal = torch.sin(torch.arange(400) * 0.3)
        torch.stft(signal, 64, window=torch.hann_window(64), return_complex=True)
    """
    as_complex = _returns_complex(input, window, return_complex)
    if not as_complex:
        deprecated("stft with return_complex=False", "view_as_real of complex numbers")
    _advise_window("stft", window)
    if center and align_to_window is not None:
        raise RuntimeError("stft: align_to_window has a meaning with center=False only")
    if input.dim() not in (1, 2):
        raise RuntimeError(
            f"stft takes (time) or (batch, time), not {input.dim()} dims"
        )
    batch = input if input.dim() == 2 else input.unsqueeze(0)
    hop, length = _settled("stft", n_fft, hop_length, win_length, window)
    if center or align_to_window:
        side = n_fft // 2 if center else (n_fft - length) // 2
        mode = pad_mode if center else "constant"
        padded = pellucid.nn.functional.pad(batch.unsqueeze(0), [side, side], mode)
        batch = padded.squeeze(0)
    if not 0 < n_fft <= batch.size(-1):
        raise RuntimeError(
            f"stft: pieces of n_fft={n_fft} points do not fit a signal of "
            f"{batch.size(-1)}"
        )
    pieces = batch.unfold(-1, n_fft, hop)
    if window is not None or length < n_fft:
        pieces = pieces * _filled(window, length, n_fft, batch)
    if onesided is None:
        onesided = not pieces.is_complex()
    transform = pellucid.fft.rfft if onesided else pellucid.fft.fft
    spectra = transform(pieces, norm="ortho" if normalized else None).transpose(1, 2)
    if input.dim() == 1:
        spectra = spectra.squeeze(0)
    return spectra if as_complex else pellucid.view_as_real(spectra)


def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signal whose ``stft`` with the same arguments is ``input``: the least squares
    estimate (Griffin and Lim 1984), of ``length`` points if given.

    Raises RuntimeError for real tensors, sizes that do not fit, and windows whose
    squares leave a point of the signal without weight.
    """
    if not input.is_complex():
        raise RuntimeError(
            f"istft takes complex numbers, not {input.dtype}: see torch.view_as_complex"
        )
    if input.dim() not in (2, 3) or input.numel() == 0:
        raise RuntimeError(
            "istft takes (frequencies, pieces), or a batch of them, not empty; got "
            f"shape {tuple(input.shape)}"
        )
    _advise_window("istft", window)
    batch = input if input.dim() == 3 else input.unsqueeze(0)
    hop, width = _settled("istft", n_fft, hop_length, win_length, window)
    frequencies, pieces = batch.shape[1:]
    if onesided is None:
        onesided = frequencies != n_fft
    expected = n_fft // 2 + 1 if onesided else n_fft
    if frequencies != expected:
        raise RuntimeError(
            f"istft: {frequencies} frequencies where n_fft={n_fft} and "
            f"onesided={onesided} have {expected}"
        )
    if return_complex and onesided:
        raise RuntimeError("istft: a complex signal has no onesided spectrum")
    weights = _filled(window, width, n_fft, batch)
    spectra = batch.transpose(1, 2)
    norm = "ortho" if normalized else None
    transform = pellucid.fft.ifft if return_complex else pellucid.fft.irfft
    values = transform(spectra, n_fft, norm=norm)
    signal = _overlapped(values * weights, hop)
    envelope = _overlapped((weights * weights).expand(1, pieces, n_fft), hop)
    start = n_fft // 2 if center else 0
    whole = signal.size(-1)
    end = start + length if length is not None else whole - start
    signal, envelope = signal[:, start:end], envelope[:, start:end]
    if envelope.numel() == 0 or float(envelope.abs().min()) <= _LEAST_ENVELOPE:
        raise RuntimeError(
            "istft: the squared windows sum to 0 at a point of the signal: take a "
            "window without zeros there, a smaller hop_length, or center=True"
        )
    result = signal / envelope
    if end > whole:
        result = pellucid.constant_pad_nd(result, [0, end - whole], 0)
    return result if input.dim() == 3 else result.squeeze(0)


def _overlapped(pieces: Tensor, hop: int) -> Tensor:
    """(batch, pieces, points), each ``hop`` behind the one before, added up."""
    batch, count, size = pieces.shape
    steps = hop * pellucid.arange(count, device=pieces.device).unsqueeze(1)
    places = (steps + pellucid.arange(size, device=pieces.device)).flatten()
    total = pieces.new_zeros(batch, size + hop * (count - 1))
    return total.index_add(1, places, pieces.flatten(1))
