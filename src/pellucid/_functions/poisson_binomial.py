"""Random counts: ``poisson`` and ``binomial``.

Functions of the package, imported when first asked for.
"""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._calls.argument_checks import any_true


def poisson(input: Tensor, generator: Any = None) -> Tensor:
    """A Poisson count for each rate of ``input``, in its dtype.

    Below a rate of 10 by waiting times, above by rejection (Hörmann 1993, PTRS).
    """
    if not input.is_floating_point():
        raise RuntimeError(f"poisson takes floating-point rates, not {input.dtype}")
    rates = input.detach().double()
    if any_true(rates < 0):
        raise RuntimeError("poisson: a rate is negative; give numbers from 0 on")
    few = rates < 10
    found = pellucid.where(
        few,
        _by_waiting(pellucid.where(few, rates, 0.0), generator),
        _by_rejection(pellucid.where(few, 10.0, rates), generator),
    )
    return found.to(input.dtype)


def _by_waiting(rates: Tensor, generator: Any) -> Tensor:
    count, time = pellucid.zeros_like(rates), pellucid.zeros_like(rates)
    while True:
        time = time + pellucid.empty_like(rates).exponential_(generator=generator)
        early = time < rates
        if not any_true(early):
            return count
        count = count + early


def _by_rejection(rates: Tensor, generator: Any) -> Tensor:
    b = 0.931 + 2.53 * rates.sqrt()
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    limit = 0.9277 - 3.6224 / (b - 2)
    found, missing = pellucid.zeros_like(rates), rates > 0
    while any_true(missing):
        u = pellucid.rand(rates.shape, dtype=rates.dtype, generator=generator) - 0.5
        v = pellucid.rand(rates.shape, dtype=rates.dtype, generator=generator)
        us = 0.5 - u.abs()
        k = ((2 * a / us + b) * u + rates + 0.43).floor()
        density = -rates + k * rates.log() - (k.clamp(min=0) + 1).lgamma()
        height = v.log() + inverse_alpha.log() - (a / (us * us) + b).log()
        quick = (us >= 0.07) & (v <= limit)
        possible = (k >= 0) & ~((us < 0.013) & (v > us))
        taken = missing & (quick | (possible & (height <= density)))
        found = pellucid.where(taken, k, found)
        missing = missing & ~taken
    return found


def binomial(count: Tensor, prob: Tensor, generator: Any = None) -> Tensor:
    """How many of ``count`` trials succeed with probability ``prob``."""
    if not count.is_floating_point():
        raise RuntimeError(f"binomial takes floating-point counts, not {count.dtype}")
    trials, chance = pellucid.broadcast_tensors(count.detach(), prob.detach())
    found = pellucid.zeros_like(trials)
    most = int(trials.max()) if trials.numel() else 0
    for trial in range(most):
        drawn = pellucid.rand(trials.shape, dtype=trials.dtype, generator=generator)
        found = found + ((drawn < chance) & (trial < trials))
    return found
