"""torchaudio's ops on signals: recursive filters, sample by sample."""

from __future__ import annotations

from typing import Any, NoReturn

from pellucid import Tensor
from pellucid._library.registration import Library

_LIBRARY = Library("torchaudio", "DEF")


def _lfilter(signal: Tensor, coefficients: Tensor, padded: Tensor) -> None:
    """``padded[t + order] = signal[t] - sum_k coefficients[k] * padded[t + k]``.

    (batch, channels, time), (channels, order + 1) and (batch, channels, order + time);
    the last coefficient multiplies what is about to be written.
    """
    order = coefficients.shape[1] - 1
    weights = coefficients[:, :order]
    for t, sample in enumerate(signal.unbind(2)):
        before = padded[:, :, t : t + order]
        padded[:, :, t + order] = sample - (before * weights).sum(2)


def _overdrive(
    waveform: Tensor, driven: Tensor, last_in: Tensor, last_out: Tensor, out: Tensor
) -> None:
    """Half the signal, and the driven one without its slow part."""
    for t in range(waveform.shape[-1]):
        now = driven[:, t]
        last_out = now - last_in + 0.995 * last_out
        last_in = now
        out[:, t] = waveform[:, t] * 0.5 + last_out * 0.75


def _refuse(*args: Any) -> NoReturn:
    raise NotImplementedError(
        "torchaudio's rnnt_loss and forced_align are not offered; ctc_loss of "
        "torch.nn.functional is"
    )


def define() -> None:
    """Define ``torch.ops.torchaudio``; once."""
    for schema, body in (
        (
            "_lfilter_core_loop(Tensor input_waveform, Tensor a_coeff_flipped, "
            "Tensor(a!) padded_output_waveform) -> ()",
            _lfilter,
        ),
        (
            "_overdrive_core_loop(Tensor waveform, Tensor temp, Tensor last_in, "
            "Tensor last_out, Tensor(a!) output_waveform) -> ()",
            _overdrive,
        ),
        (
            "rnnt_loss_forward(Tensor logits, Tensor targets, Tensor logit_lengths, "
            "Tensor target_lengths, int blank, float clamp, bool fused_log_softmax) "
            "-> (Tensor, Tensor)",
            _refuse,
        ),
        (
            "forced_align(Tensor log_probs, Tensor targets, Tensor input_lengths, "
            "Tensor target_lengths, int blank) -> (Tensor, Tensor)",
            _refuse,
        ),
    ):
        _LIBRARY.impl(_LIBRARY.define(schema), body, "CompositeImplicitAutograd")
