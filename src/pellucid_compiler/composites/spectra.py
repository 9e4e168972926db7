"""Short-time Fourier transforms: ``stft`` and ``istft``."""

from pellucid_compiler.composites import api, composite, require
from pellucid_compiler.composites.linalg_checks import plain

# The least sum of squared windows by which istft divides.
_LEAST_ENVELOPE = 1e-11


def _hop_and_length(name, n_fft, hop_length, win_length, window):
    """The hop between frames and the length of the window."""
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    require(hop > 0, "{}: hop_length is {}; give 1 or more", name, hop)
    require(
        0 < length <= n_fft,
        "{}: a window of {} points does not fit n_fft={}: win_length is "
        "between 1 and n_fft",
        name,
        length,
        n_fft,
    )
    require(
        window is None or window.shape == (length,),
        "{}: the window must be a vector of {}: win_length is its length",
        name,
        length,
    )
    return hop, length


def _padded_window(window, length, n_fft, like):
    """The window zero-padded on both sides to ``n_fft``; by default ones."""
    if window is None:
        window = like.new_ones(length, dtype=like.dtype.to_real())
    left = (n_fft - length) // 2
    return api.constant_pad_nd(window, [left, n_fft - length - left], 0)


def _advise_window(name, window):
    if window is None:
        api._package.calls.deprecation.advise(
            f"{name} without a window takes all points alike, so that frequencies leak "
            "into others; give one, such as hann_window(n_fft)",
            stacklevel=3,
        )


def _returns_complex(x, window, return_complex):
    is_complex = x.is_complex() or (window is not None and window.is_complex())
    require(
        return_complex is not None or is_complex,
        "stft of a real signal needs return_complex: give True for complex numbers, "
        "False for pairs along a last dimension",
    )
    return return_complex is None or return_complex


_PIECES = (
    "Tensor self, int n_fft, int? hop_length=None, int? win_length=None, "
    "Tensor? window=None"
)
_KIND = (
    "bool normalized=False, bool? onesided=None, bool? return_complex=None, "
    "bool? align_to_window=None"
)


@composite(
    f"stft.center({_PIECES}, bool center=True, str pad_mode='reflect', {_KIND}) "
    "-> Tensor"
)
def stft(
    x,
    n_fft,
    hop_length,
    win_length,
    window,
    center,
    pad_mode,
    normalized,
    onesided,
    return_complex,
    align_to_window,
):
    """The spectra of windowed frames of ``n_fft`` points, ``hop_length`` apart, of
    signals of shape (time) or (batch, time): (batch, frequencies, frames).

    With ``center``, the signal is padded so that frame t is centred at ``t *
    hop_length``. ``onesided``, the default for real signals, returns only the first
    half of the frequencies. Raises RuntimeError for other shapes and windows that do
    not fit::

        signal = torch.sin(torch.arange(400) * 0.3)
        torch.stft(signal, 64, window=torch.hann_window(64), return_complex=True)
    """
    as_complex = _returns_complex(x, window, return_complex)
    if not as_complex:
        api._package.calls.deprecation.deprecated(
            "stft with return_complex=False", "view_as_real of complex numbers"
        )
    _advise_window("stft", window)
    require(
        not center or align_to_window is None,
        "stft: align_to_window has a meaning with center=False only",
    )
    require(
        x.dim() in (1, 2), "stft takes (time) or (batch, time), not {} dims", x.dim()
    )
    hop, length = _hop_and_length("stft", n_fft, hop_length, win_length, window)
    batch = x if x.dim() == 2 else x.unsqueeze(0)
    if center or align_to_window:
        side = n_fft // 2 if center else (n_fft - length) // 2
        mode = pad_mode if center else "constant"
        pad = api.nn.functional.pad
        batch = pad(batch.unsqueeze(0), [side, side], mode).squeeze(0)
    frames = _framed(batch, n_fft, hop)
    if window is not None or length < n_fft:
        frames = frames * _padded_window(window, length, n_fft, batch)
    if onesided is None:
        onesided = not frames.is_complex()
    transform = api.fft.rfft if onesided else api.fft.fft
    spectra = transform(frames, norm="ortho" if normalized else None).transpose(1, 2)
    spectra = spectra if x.dim() == 2 else spectra.squeeze(0)
    return spectra if as_complex else api.view_as_real(spectra)


def _framed(batch, n_fft, hop):
    require(
        0 < n_fft <= batch.size(-1),
        "stft: frames of n_fft={} points do not fit a signal of {}",
        n_fft,
        batch.size(-1),
    )
    return batch.unfold(-1, n_fft, hop)


@composite(f"stft({_PIECES}, {_KIND}) -> Tensor", method=False, function=False)
def stft_from_start(x, n_fft, hop_length, win_length, window, *kind):
    """``stft`` without padding: frame t begins at ``t * hop_length``."""
    return stft(x, n_fft, hop_length, win_length, window, False, "", *kind)


@composite(
    f"istft({_PIECES}, bool center=True, bool normalized=False, bool? onesided=None, "
    "int? length=None, bool return_complex=False) -> Tensor"
)
def istft(
    x,
    n_fft,
    hop_length,
    win_length,
    window,
    center,
    normalized,
    onesided,
    length,
    return_complex,
):
    """The signal whose ``stft`` with the same arguments is ``input``: the least squares
    estimate (Griffin and Lim 1984), of ``length`` points if given.

    Raises RuntimeError for real tensors, sizes that do not fit, and windows whose
    squares sum to zero at a point of the signal.
    """
    _require_spectra(x)
    _advise_window("istft", window)
    batch = x if x.dim() == 3 else x.unsqueeze(0)
    hop, width = _hop_and_length("istft", n_fft, hop_length, win_length, window)
    _require_frequencies(batch.shape[1], n_fft, onesided, return_complex)
    weights = _padded_window(window, width, n_fft, batch)
    transform = api.fft.ifft if return_complex else api.fft.irfft
    norm = "ortho" if normalized else None
    values = transform(batch.transpose(1, 2), n_fft, norm=norm)
    signal = _overlapped(values * weights, hop)
    squares = (weights * weights).expand(1, batch.shape[2], n_fft)
    envelope = _overlapped(squares, hop)
    start = n_fft // 2 if center else 0
    whole = signal.size(-1)
    end = whole - start if length is None else start + length
    signal, envelope = signal[:, start:end], envelope[:, start:end]
    _require_weights(plain(envelope))
    result = signal / envelope
    if end > whole:
        result = api.constant_pad_nd(result, [0, end - whole], 0)
    return result if x.dim() == 3 else result.squeeze(0)


def _require_spectra(x):
    require(
        x.is_complex(),
        "istft takes complex numbers, not {}: see torch.view_as_complex",
        x.dtype,
    )
    require(
        x.dim() in (2, 3) and x.numel() > 0,
        "istft takes (frequencies, frames), or a batch of them, not empty; "
        "got shape {}",
        x.shape,
    )


def _require_frequencies(count, n_fft, onesided, return_complex):
    onesided = count != n_fft if onesided is None else onesided
    expected = n_fft // 2 + 1 if onesided else n_fft
    require(
        count == expected,
        "istft: {} frequencies where n_fft={} and onesided={} have {}",
        count,
        n_fft,
        onesided,
        expected,
    )
    require(
        not (return_complex and onesided),
        "istft: a complex signal has no onesided spectrum",
    )


def _require_weights(envelope):
    is_known = not envelope.is_meta
    require(
        envelope.numel() > 0
        and not (is_known and float(envelope.abs().min()) <= _LEAST_ENVELOPE),
        "istft: the squared windows sum to 0 at a point of the signal: take a window "
        "without zeros there, a smaller hop_length, or center=True",
    )


def _overlapped(frames, hop):
    """Overlap-add of frames (batch, frames, points), each ``hop`` after the one
    before.
    """
    batch, count, size = frames.shape
    steps = hop * api.arange(count, device=frames.device).unsqueeze(1)
    places = (steps + api.arange(size, device=frames.device)).flatten()
    total = frames.new_zeros(batch, size + hop * (count - 1))
    return total.index_add(1, places, frames.flatten(1))
