"""``LKJCholesky``: correlation matrices."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import pellucid
from pellucid import Tensor
from pellucid.distributions import constraints
from pellucid.distributions.beta import Beta
from pellucid.distributions.distribution import Distribution
from pellucid.distributions.utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices of ``dim`` rows, whose density is
    proportional to ``det(C) ** (concentration - 1)`` (Lewandowski, Kurowicka and Joe
    2009).
    """

    arg_constraints: ClassVar = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(
        self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        if dim < 2:
            raise ValueError(f"LKJCholesky: dim is {dim}; give 2 or more")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        batch = self.concentration.shape
        # The squared lengths of rows are beta variates ("onion" method, section 3.2).
        offset = pellucid.arange(dim - 1, dtype=self.concentration.dtype)
        offset = pellucid.cat([offset.new_zeros(1), offset])
        along = offset + 0.5
        across = self.concentration.unsqueeze(-1) + 0.5 * (dim - 2) - 0.5 * offset
        self._beta = Beta(along, across)
        super().__init__(batch, pellucid.Size((dim, dim)), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        expanded = super().expand(batch_shape, _instance)
        shape = pellucid.Size(batch_shape)
        expanded._beta = self._beta.expand((*shape, self.dim))
        return expanded

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with pellucid.no_grad():
            squares = self._beta.sample(sample_shape).unsqueeze(-1)
            drawn = pellucid.randn(
                self._extended_shape(sample_shape), dtype=squares.dtype
            ).tril(-1)
            lengths = pellucid.linalg.vector_norm(drawn, 2, -1, keepdim=True)
            directions = drawn / pellucid.where(lengths == 0, 1.0, lengths)
            rest = squares.sqrt() * directions
            # The first row has no direction: its diagonal element is 1.
            tiny = pellucid.finfo(rest.dtype).tiny
            diagonal = (1 - rest.square().sum(-1)).clamp(min=tiny).sqrt()
            return rest + diagonal.diag_embed()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        diagonal = value.diagonal(0, -2, -1)[..., 1:]
        order = pellucid.arange(2, self.dim + 1, dtype=self.concentration.dtype)
        powers = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        unnormalized = (powers * diagonal.log()).sum(-1)
        count = self.dim - 1
        alpha = self.concentration + 0.5 * count
        below = alpha.lgamma() * count
        above = pellucid.mvlgamma(alpha - 0.5, count)
        return unnormalized - (0.5 * count * math.log(math.pi) + above - below)
