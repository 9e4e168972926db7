"""``Wishart``: covariance matrices of samples."""

from __future__ import annotations

import math
from typing import Any

import pellucid
from pellucid import Tensor, linalg
from pellucid.distributions import constraints
from pellucid.distributions._covariance import CovarianceForms
from pellucid.distributions.exp_family import ExponentialFamily

__all__ = ["Wishart"]


class Wishart(CovarianceForms, ExponentialFamily):
    """The distribution of the sum of products ``x xᵀ`` of ``df`` normal vectors, by one
    of ``covariance_matrix``, ``precision_matrix`` and ``scale_tril``.
    """

    support = constraints.positive_definite
    has_rsample = True

    def __init__(
        self,
        df: Any,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, matrix = self._only_form(covariance_matrix, precision_matrix, scale_tril)
        df = pellucid.as_tensor(df, dtype=matrix.dtype)
        batch = pellucid.broadcast_shapes(df.shape, matrix.shape[:-2])
        events = matrix.shape[-2:]
        if bool((df <= events[0] - 1).any()):
            raise ValueError(
                f"Wishart: df must be greater than {events[0] - 1}, one less than the "
                "rows of the matrix"
            )
        self.df = df.expand(batch)
        setattr(self, name, matrix.expand(batch + events))
        super().__init__(batch, events, validate_args)
        self._keep_factor(name, matrix)

    @property
    def arg_constraints(self) -> Any:  # type: ignore[override]
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[0] - 1),
        }

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        expanded = super().expand(batch_shape, _instance)
        expanded._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril.expand(
            pellucid.Size(batch_shape) + self.event_shape
        )
        return expanded

    @property
    def mean(self) -> Tensor:
        return self.df[..., None, None] * self.covariance_matrix  # type: ignore[no-any-return]

    @property
    def mode(self) -> Tensor:
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        factor = pellucid.where(factor <= 0, math.nan, factor)
        return factor[..., None, None] * self.covariance_matrix  # type: ignore[no-any-return]

    @property
    def variance(self) -> Tensor:
        c = self.covariance_matrix
        diagonal = c.diagonal(0, -2, -1)
        products = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self.df[..., None, None] * (c.pow(2) + products)  # type: ignore[no-any-return]

    def _shapes(self) -> Tensor:
        """Half the degrees of freedom of each diagonal element of the factor."""
        order = pellucid.arange(self._event_shape[0], dtype=self.df.dtype)
        return 0.5 * (self.df.unsqueeze(-1) - order)  # type: ignore[no-any-return]

    def rsample(self, sample_shape: Any = (), max_try_correction: Any = None) -> Tensor:
        """By the factor's elements, which are independent (Bartlett 1933)."""
        shape = self._extended_shape(sample_shape)
        squares = 2 * pellucid._standard_gamma(self._shapes().expand(shape[:-1]))
        factor = squares.sqrt().diag_embed()
        rows, columns = pellucid.tril_indices(shape[-1], shape[-1], -1)
        below = pellucid.randn((*shape[:-2], len(rows)), dtype=self.df.dtype)
        factor[..., rows, columns] = below
        root = self._unbroadcasted_scale_tril @ factor
        return root @ root.mT

    def _log_volume(self) -> Tensor:
        return self._unbroadcasted_scale_tril.diagonal(0, -2, -1).log().sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n, p = self.df, self._event_shape[0]
        constant = n * p / 2 * math.log(2) + pellucid.mvlgamma(n / 2, p)
        size = linalg.slogdet(value).logabsdet
        trace = pellucid.cholesky_solve(value, self._unbroadcasted_scale_tril)
        trace = trace.diagonal(0, -2, -1).sum(-1)
        return -n * self._log_volume() - constant + (n - p - 1) / 2 * size - 0.5 * trace  # type: ignore[no-any-return]

    def entropy(self) -> Tensor:
        n, p = self.df, self._event_shape[0]
        slopes = self._shapes().digamma().sum(-1)
        return (  # type: ignore[no-any-return]
            (p + 1) * (self._log_volume() + 0.5 * p * math.log(2))
            + pellucid.mvlgamma(n / 2, p)
            - (n - p - 1) / 2 * slopes
            + 0.5 * n * p
        )
