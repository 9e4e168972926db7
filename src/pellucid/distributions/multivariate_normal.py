"""``MultivariateNormal``: normal distributions of vectors."""

from __future__ import annotations

from typing import Any, ClassVar

import pellucid
from pellucid import Tensor, linalg
from pellucid.distributions import constraints
from pellucid.distributions._covariance import FORMS, CovarianceForms
from pellucid.distributions.distribution import Distribution
from pellucid.distributions.utils import LOG_ROOT_2_PI, _standard_normal

__all__ = ["MultivariateNormal"]


def _batch_mv(matrix: Tensor, vector: Tensor) -> Tensor:
    """The products of batches of matrices and vectors."""
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(factor: Tensor, gap: Tensor) -> Tensor:
    """``gap · (L Lᵀ)⁻¹ gap`` for the Cholesky factor L."""
    column = gap.unsqueeze(-1)
    batch = pellucid.broadcast_shapes(factor.shape[:-2], column.shape[:-2])
    white = linalg.solve_triangular(
        factor.expand(batch + factor.shape[-2:]),
        column.expand(batch + column.shape[-2:]),
        upper=False,
    )
    return white.squeeze(-1).pow(2).sum(-1)


class MultivariateNormal(CovarianceForms):
    """The normal distribution of vectors with mean ``loc``, by one of its
    ``covariance_matrix``, ``precision_matrix`` and ``scale_tril``.

    >>> normal = torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
    >>> normal.log_prob(torch.zeros(2))
    tensor(-1.8379)
    """

    arg_constraints: ClassVar = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("MultivariateNormal: loc needs at least one dim")
        name, matrix = self._only_form(covariance_matrix, precision_matrix, scale_tril)
        batch = pellucid.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self.loc = loc.expand(batch + loc.shape[-1:])
        setattr(self, name, matrix.expand(batch + matrix.shape[-2:]))
        super().__init__(batch, loc.shape[-1:], validate_args)
        self._keep_factor(name, matrix)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        expanded = self._get_checked_instance(MultivariateNormal, _instance)
        shape = pellucid.Size(batch_shape)
        expanded.loc = self.loc.expand(shape + self.event_shape)
        expanded._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        for name in FORMS:
            if name in self.__dict__:
                matrix = self.__dict__[name].expand(shape + self.event_shape * 2)
                setattr(expanded, name, matrix)
        Distribution.__init__(expanded, shape, self.event_shape, validate_args=False)
        expanded._validate_args = self._validate_args
        return expanded

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        variance = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return variance.expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        drawn = _standard_normal(shape, self.loc.dtype, self.loc.device)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, drawn)

    def _log_volume(self) -> Tensor:
        return self._unbroadcasted_scale_tril.diagonal(0, -2, -1).log().sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        gap = value - self.loc
        distance = _batch_mahalanobis(self._unbroadcasted_scale_tril, gap)
        size = self._event_shape[0]
        return -0.5 * distance - self._log_volume() - size * LOG_ROOT_2_PI

    def entropy(self) -> Tensor:
        size = self._event_shape[0]
        entropy = size * (0.5 + LOG_ROOT_2_PI) + self._log_volume()
        return entropy.expand(self._batch_shape)
