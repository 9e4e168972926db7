"""Random counts and places: draws never have a history."""

import math

from pellucid_compiler.composites import (
    all_true,
    any_true,
    api,
    composite,
    require,
    unbatched,
)


def _require_values(message, condition):
    """Of all examples; Meta has none."""
    require(all_true(condition), message)


# ------------------------------------------------------------------ counts


@composite(
    "poisson(Tensor self, Generator? generator=None) -> Tensor",
    method=False,
    out=True,
    seen=True,
)
def poisson(x, generator):
    """A Poisson count for each rate, in its dtype. Below a rate of 10 by waiting times,
    above by rejection (Hörmann 1993, PTRS).
    """
    require(
        x.is_floating_point(), "poisson takes floating-point rates, not {}", x.dtype
    )
    rates = x.detach().double()
    _require_values("poisson: a rate is negative; give numbers from 0 on", rates >= 0)
    few = rates < 10
    found = api.where(
        few,
        _by_waiting(api.where(few, rates, 0.0), generator),
        _by_rejection(api.where(few, 10.0, rates), generator),
    )
    return found.to(x.dtype)


def _by_waiting(rates, generator):
    count, time = api.zeros_like(rates), api.zeros_like(rates)
    while True:
        time = time + api.empty_like(rates).exponential_(generator=generator)
        early = time < rates
        if not any_true(early):
            return count
        count = count + early


def _by_rejection(rates, generator):
    b = 0.931 + 2.53 * rates.sqrt()
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    limit = 0.9277 - 3.6224 / (b - 2)
    found, missing = api.zeros_like(rates), rates > 0
    while any_true(missing):
        u = api.empty_like(rates).uniform_(generator=generator) - 0.5
        v = api.empty_like(rates).uniform_(generator=generator)
        us = 0.5 - u.abs()
        k = ((2 * a / us + b) * u + rates + 0.43).floor()
        density = -rates + k * rates.log() - (k.clamp(min=0) + 1).lgamma()
        height = v.log() + inverse_alpha.log() - (a / (us * us) + b).log()
        quick = (us >= 0.07) & (v <= limit)
        possible = (k >= 0) & ~((us < 0.013) & (v > us))
        taken = missing & (quick | (possible & (height <= density)))
        found = api.where(taken, k, found)
        missing = missing & ~taken
    return found


@composite(
    "binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor",
    method=False,
    out=True,
    seen=True,
)
def binomial(count, prob, generator):
    """How many of ``count`` trials succeed with probability ``prob``."""
    require(
        count.is_floating_point(),
        "binomial takes floating-point counts, not {}",
        count.dtype,
    )
    trials, chance = api.broadcast_tensors(count.detach(), prob.detach())
    found = api.zeros_like(trials)
    plain = unbatched(trials)
    most = int(plain.max()) if plain.numel() and not plain.is_meta else 0
    for trial in range(most):
        drawn = api.empty_like(found).uniform_(generator=generator)
        found = found + ((drawn < chance) & (trial < trials))
    return found


# ------------------------------------------------------------------ places


@composite(
    "multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, "
    "Generator? generator=None) -> Tensor",
    out=True,
    seen=True,
)
def multinomial(x, num_samples, replacement, *, generator):
    """Places in the last dim, drawn with the weights that it holds."""
    _check_draw(x, num_samples, replacement)
    weights = x.detach()
    totals = weights.sum(-1, keepdim=True)
    valid = (weights >= 0) & (weights < math.inf) & (totals > 0)
    _require_values(
        "multinomial: weights must be finite, at least 0, and not all 0", valid
    )
    if not replacement or num_samples == 1:
        keys = weights / api.empty_like(weights).exponential_(generator=generator)
        if num_samples == 1:
            return keys.argmax(-1, keepdim=True)
        return keys.topk(num_samples, -1)[1]
    shape = (*weights.shape[:-1], num_samples)
    levels = weights.new_empty(shape, dtype=api.float64).uniform_(generator=generator)
    reached = weights.cumsum(-1) / totals
    passed = reached[..., None, :-1] < levels[..., None]
    return passed.sum(-1)


def _check_draw(x, num_samples, replacement):
    require(
        x.dim() in (1, 2),
        "multinomial takes one or two dimensions of weights, not {}",
        x.dim(),
    )
    require(
        x.is_floating_point(),
        "multinomial takes floating-point weights, not {}",
        x.dtype,
    )
    require(num_samples > 0, "multinomial cannot draw {} samples", num_samples)
    require(
        replacement or num_samples <= x.shape[-1],
        "multinomial: cannot sample n_sample > prob_dist.size(-1) samples without "
        "replacement: {} of {}; pass replacement=True",
        num_samples,
        x.shape[-1],
    )
