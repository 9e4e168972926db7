"""Filters and spectrograms of a made signal."""

import math

import torch
import torchaudio

functional, transforms = torchaudio.functional, torchaudio.transforms
torch.manual_seed(0)
wave = torch.sin(torch.arange(8000) * (2 * math.pi * 440 / 16000))
wave = (wave + 0.1 * torch.randn(8000)).unsqueeze(0)
RESULTS = {
    "spectrogram": transforms.Spectrogram(400),
    "mel": transforms.MelSpectrogram(16000, n_mels=40),
    "mfcc": transforms.MFCC(16000, n_mfcc=13),
    "decibels": lambda w: transforms.AmplitudeToDB()(transforms.Spectrogram(256)(w)),
    "resample": transforms.Resample(16000, 8000),
    "lowpass": lambda w: functional.lowpass_biquad(w[:, :2000], 16000, 1000.0),
    "overdrive": lambda w: functional.overdrive(w[:, :2000]),
    "mu law": lambda w: functional.mu_law_encoding(w.clamp(-1, 1), 256),
    "phaser": lambda w: functional.phaser(w[:, :2000].clamp(-1, 1), 16000),
    "griffin-lim": lambda w: functional.griffinlim(
        transforms.Spectrogram(400)(w),
        *(torch.hann_window(400), 400, 200, 400, 2.0, 4, 0.99, None, False),
    ),
}
for name, function in RESULTS.items():
    found = function(wave)
    print(name, tuple(found.shape), f"{found.double().abs().mean().item():.4g}")
