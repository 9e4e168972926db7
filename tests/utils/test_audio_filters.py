"""The ops that torchaudio's Python calls, against recurrences written out."""

import numpy as np

import pellucid as torch

torch.ops.load_library("torchaudio/lib/_torchaudio.abi3.so")
torch.ops.load_library("torchaudio/lib/libtorchaudio.abi3.so")
ops = torch.ops.torchaudio


def test_what_torchaudio_asks_on_import():
    assert torch.ops._torchaudio.cuda_version() == -1
    assert not torch.ops._torchaudio.is_align_available()


def test_recursive_filters_read_what_they_have_written():
    torch.manual_seed(0)
    signal = torch.randn(2, 3, 9, dtype=torch.float64)
    flipped = torch.tensor(
        [[0.2, -0.5, 1], [0.1, 0.3, 1], [0, 0, 1]], dtype=torch.float64
    )
    padded = torch.zeros(2, 3, 11, dtype=torch.float64)
    ops._lfilter_core_loop(signal, flipped, padded)
    expected = np.zeros((2, 3, 11))
    for t in range(9):
        before = expected[:, :, t : t + 2] * flipped[:, :2].numpy()
        expected[:, :, t + 2] = signal[:, :, t].numpy() - before.sum(2)
    torch.testing.assert_close(padded, torch.from_numpy(expected))


def test_overdrive_drops_the_slow_part_of_the_driven_signal():
    waveform = torch.linspace(-1, 1, 6, dtype=torch.float64).view(1, 6)
    driven, zero = waveform**3, torch.zeros(1, dtype=torch.float64)
    out = torch.zeros_like(waveform)
    ops._overdrive_core_loop(waveform, driven, zero, zero, out)
    slow, before, expected = 0.0, 0.0, []
    for x, d in zip(waveform[0].tolist(), driven[0].tolist(), strict=True):
        slow, before = d - before + 0.995 * slow, d
        expected.append(0.5 * x + 0.75 * slow)
    torch.testing.assert_close(out[0], torch.tensor(expected, dtype=torch.float64))
