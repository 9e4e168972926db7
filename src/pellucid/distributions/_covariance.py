"""A positive definite matrix given in one of three forms, for distributions of vectors
and of covariances.
"""

from __future__ import annotations

import pellucid
from pellucid import Tensor, linalg
from pellucid.distributions.distribution import Distribution
from pellucid.distributions.utils import lazy_property

FORMS = ("covariance_matrix", "precision_matrix", "scale_tril")


def _precision_to_scale_tril(precision: Tensor) -> Tensor:
    """The Cholesky factor of the inverse, from that of the reversed matrix."""
    backwards = linalg.cholesky(precision.flip(-2, -1)).flip(-2, -1)
    one = pellucid.eye(precision.shape[-1], dtype=precision.dtype)
    return linalg.solve_triangular(
        backwards.mT, one.expand(precision.shape), upper=False
    )


class CovarianceForms(Distribution):
    """The covariance, its inverse and its Cholesky factor; one is given, the others
    are computed at first use.
    """

    _unbroadcasted_scale_tril: Tensor  # factored and solved once for all batches

    @classmethod
    def _only_form(cls, *matrices: Tensor | None) -> tuple[str, Tensor]:
        """The name and the value of the one of ``FORMS`` that is not None."""
        named = [(n, m) for n, m in zip(FORMS, matrices, strict=True) if m is not None]
        if len(named) != 1:
            raise ValueError(f"{cls.__name__}: give exactly one of {', '.join(FORMS)}")
        ((name, matrix),) = named
        if matrix.dim() < 2:
            raise ValueError(f"{cls.__name__}: {name} needs at least two dims")
        return name, matrix

    def _keep_factor(self, name: str, matrix: Tensor) -> None:
        if name == "covariance_matrix":
            matrix = linalg.cholesky(matrix)
        elif name == "precision_matrix":
            matrix = _precision_to_scale_tril(matrix)
        self._unbroadcasted_scale_tril = matrix

    def _of_batch(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape[-1:] * 2)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        return self._of_batch(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The expected products of the distances to the mean."""
        factor = self._unbroadcasted_scale_tril
        return self._of_batch(factor @ factor.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        return self._of_batch(pellucid.cholesky_inverse(self._unbroadcasted_scale_tril))
