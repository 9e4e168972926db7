"""``LowRankMultivariateNormal``: a covariance of low rank plus a diagonal."""

from __future__ import annotations

from typing import Any, ClassVar

import pellucid
from pellucid import Tensor, linalg
from pellucid.distributions import constraints
from pellucid.distributions.distribution import Distribution
from pellucid.distributions.multivariate_normal import _batch_mahalanobis, _batch_mv
from pellucid.distributions.utils import LOG_ROOT_2_PI, _standard_normal, lazy_property

__all__ = ["LowRankMultivariateNormal"]


class LowRankMultivariateNormal(Distribution):
    """The normal distribution with the covariance ``W Wᵀ + diag(D)``.

    ``cov_factor`` W is (..., n, rank), ``cov_diag`` D (..., n). Systems and
    determinants are solved with matrices of ``rank`` rows (Woodbury 1950).
    """

    arg_constraints: ClassVar = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        cov_factor: Tensor,
        cov_diag: Tensor,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1 or cov_factor.dim() < 2 or cov_diag.dim() < 1:
            raise ValueError(
                "LowRankMultivariateNormal: loc and cov_diag are vectors, cov_factor a "
                "matrix, or batches of them"
            )
        size = loc.shape[-1:]
        if cov_factor.shape[-2:-1] != size or cov_diag.shape[-1:] != size:
            raise ValueError(
                f"LowRankMultivariateNormal: shapes {tuple(cov_factor.shape)} and "
                f"{tuple(cov_diag.shape)} for vectors of {size[0]} numbers"
            )
        batch = pellucid.broadcast_shapes(
            loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1]
        )
        self.loc = loc.expand(batch + size)
        self.cov_factor = cov_factor.expand(batch + cov_factor.shape[-2:])
        self.cov_diag = cov_diag.expand(batch + size)
        super().__init__(batch, size, validate_args)
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        scaled = cov_factor.mT / cov_diag.unsqueeze(-2)
        one = pellucid.eye(cov_factor.shape[-1], dtype=cov_factor.dtype)
        self._capacitance_tril = linalg.cholesky(one + scaled @ cov_factor)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        return self.cov_factor.pow(2).sum(-1) + self.cov_diag

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The expected products of the distances to the mean."""
        product = self.cov_factor @ self.cov_factor.mT
        return product + self.cov_diag.diag_embed()

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        return linalg.cholesky(self.covariance_matrix)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        scaled = self.cov_factor.mT / self.cov_diag.unsqueeze(-2)
        factor = self._capacitance_tril.expand(
            self._batch_shape + self._capacitance_tril.shape[-2:]
        )
        white = linalg.solve_triangular(factor, scaled, upper=False)
        return self.cov_diag.reciprocal().diag_embed() - white.mT @ white

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        few = shape[:-1] + self.cov_factor.shape[-1:]
        drawn = _standard_normal(few, self.loc.dtype, self.loc.device)
        own = _standard_normal(shape, self.loc.dtype, self.loc.device)
        shared = _batch_mv(self._unbroadcasted_cov_factor, drawn)
        return self.loc + shared + self._unbroadcasted_cov_diag.sqrt() * own

    def _log_determinant(self) -> Tensor:
        diagonal = self._capacitance_tril.diagonal(0, -2, -1)
        return 2 * diagonal.log().sum(-1) + self._unbroadcasted_cov_diag.log().sum(-1)

    def _distance(self, gap: Tensor) -> Tensor:
        """``gap · C⁻¹ gap`` for the covariance C."""
        diagonal = self._unbroadcasted_cov_diag
        scaled = self._unbroadcasted_cov_factor.mT / diagonal.unsqueeze(-2)
        along = _batch_mahalanobis(self._capacitance_tril, _batch_mv(scaled, gap))
        return (gap.pow(2) / diagonal).sum(-1) - along

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        log_density = -0.5 * (
            self._log_determinant() + self._distance(value - self.loc)
        )
        return log_density - self._event_shape[0] * LOG_ROOT_2_PI

    def entropy(self) -> Tensor:
        entropy = 0.5 * self._log_determinant()
        entropy = entropy + self._event_shape[0] * (0.5 + LOG_ROOT_2_PI)
        return entropy.expand(self._batch_shape)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        shape = pellucid.Size(batch_shape)
        expanded = super().expand(shape, _instance)
        for name in ("variance", "covariance_matrix", "scale_tril", "precision_matrix"):
            expanded.__dict__.pop(name, None)
        return expanded
