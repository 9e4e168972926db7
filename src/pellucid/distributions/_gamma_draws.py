"""Gamma variates with gradients; used by gamma, beta, Dirichlet and Student's t."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.autograd import Function


class _StandardGamma(Function):
    """A gamma variate, whose gradient holds its place in the distribution fixed
    (Figurnov et al. 2018).
    """

    @staticmethod
    def forward(ctx: Any, concentration: Tensor) -> Tensor:
        sample = _drawn(concentration)
        ctx.save_for_backward(concentration, sample)
        return sample

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        concentration, sample = (t.double() for t in ctx.saved_tensors)
        step = 1e-4 * concentration
        above = pellucid.igamma(concentration + step, sample)
        below = pellucid.igamma(concentration - step, sample)
        density = (
            (concentration - 1) * sample.log() - sample - concentration.lgamma()
        ).exp()
        slope = -(above - below) / (2 * step) / density
        return grad * slope.to(grad.dtype)  # type: ignore[no-any-return]


def _drawn(concentration: Tensor) -> Tensor:
    """Marsaglia and Tsang 2000: rejection from a cubed normal number."""
    alpha = concentration.detach().double()
    small = alpha < 1
    d = pellucid.where(small, alpha + 1, alpha) - 1 / 3
    c = 1 / (9 * d).sqrt()
    found, missing = pellucid.zeros_like(d), pellucid.ones_like(d, dtype=pellucid.bool)
    while bool(missing.any()):
        x = pellucid.randn_like(d)
        v = (1 + c * x).pow(3)
        u = pellucid.rand_like(d)
        bound = 0.5 * x * x + d - d * v + d * v.clamp(min=1e-300).log()
        taken = missing & (v > 0) & (u.log() < bound)
        found = pellucid.where(taken, d * v, found)
        missing = missing & ~taken
    power = pellucid.where(small, 1 / alpha, 0.0)
    found = found * pellucid.rand_like(d).pow(power)
    tiny = pellucid.finfo(concentration.dtype).tiny
    return found.to(concentration.dtype).clamp(min=tiny)


def standard_gamma(concentration: Tensor) -> Tensor:
    """A gamma variate of rate 1 for each element, differentiable."""
    result: Tensor = _StandardGamma.apply(concentration)
    return result
