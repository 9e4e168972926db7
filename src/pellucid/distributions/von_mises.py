"""``VonMises``: angles about a direction."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import pellucid
from pellucid import Tensor, special
from pellucid.distributions import constraints
from pellucid.distributions.distribution import Distribution
from pellucid.distributions.utils import broadcast_all, shape_of

__all__ = ["VonMises"]


class VonMises(Distribution):
    """Angles with a density proportional to ``exp(concentration cos(x - loc))``."""

    arg_constraints: ClassVar = {
        "loc": constraints.real,
        "concentration": constraints.positive,
    }
    support = constraints.real

    def __init__(
        self, loc: Any, concentration: Any, validate_args: bool | None = None
    ) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        shape = shape_of(self.loc, loc, concentration)
        super().__init__(shape, validate_args=validate_args)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        k = self.concentration
        scaled = special.i0e(k)  # i0(k) exp(-k), which does not overflow
        log_density = k * ((value - self.loc).cos() - 1)
        return log_density - math.log(2 * math.pi) - scaled.log()

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Rejection sampling by a wrapped Cauchy distribution (Best, Fisher 1979)."""
        shape = self._extended_shape(sample_shape)
        with pellucid.no_grad():
            loc = self.loc.double().expand(shape)
            k = self.concentration.double().expand(shape)
            r = _proposal(k)
            accepted_angles, missing = (
                pellucid.zeros_like(k),
                pellucid.ones_like(k).bool(),
            )
            while bool(missing.any()):
                u1, u2, u3 = pellucid.rand((3, *shape), dtype=k.dtype)
                z = (math.pi * u1).cos()
                f = (1 + r * z) / (r + z)
                c = k * (r - f)
                accepted = (c * (2 - c) - u2 > 0) | ((c / u2).log() + 1 - c >= 0)
                angle = (u3 - 0.5).sign() * f.clamp(min=-1, max=1).acos()
                accepted_angles = pellucid.where(accepted, angle, accepted_angles)
                missing = missing & ~accepted
            angles = (accepted_angles + math.pi + loc) % (2 * math.pi) - math.pi
            return angles.to(self.loc.dtype)

    @property
    def mean(self) -> Tensor:
        """The mean direction of the angles."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The circular variance: 1 minus the length of the mean unit vector."""
        k = self.concentration
        return 1 - special.i1e(k) / special.i0e(k)


def _proposal(k: Tensor) -> Tensor:
    """The parameter of the Cauchy distribution; a series for small concentrations."""
    tau = 1 + (1 + 4 * k * k).sqrt()
    rho = (tau - (2 * tau).sqrt()) / (2 * k)
    parameter = (1 + rho * rho) / (2 * rho)
    return pellucid.where(k < 1e-5, 1 / k + k, parameter)
