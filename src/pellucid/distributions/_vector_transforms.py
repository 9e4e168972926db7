"""Transforms of vectors and matrices: simplexes, triangles, joins.

Exported by ``transforms.py``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.distributions import constraints
from pellucid.distributions._transform import Transform
from pellucid.distributions.utils import tril_matrix_to_vec, vec_to_tril_matrix
from pellucid.nn import functional


class ReshapeTransform(Transform):
    """The events in another shape."""

    bijective = True

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        self.in_shape = pellucid.Size(in_shape)
        self.out_shape = pellucid.Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError(
                f"the shapes {tuple(in_shape)} and {tuple(out_shape)} hold different "
                "numbers of elements"
            )
        super().__init__(cache_size)

    @property
    def domain(self) -> Any:
        return constraints.independent(constraints.real, len(self.in_shape))

    @property
    def codomain(self) -> Any:
        return constraints.independent(constraints.real, len(self.out_shape))

    def _batch(self, shape: Any, tail: Any) -> Any:
        split = len(shape) - len(tail)
        if split < 0 or shape[split:] != tail:
            raise ValueError(f"shape {tuple(shape)} does not end in {tuple(tail)}")
        return shape[:split]

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(self._batch(x.shape, self.in_shape) + self.out_shape)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(self._batch(y.shape, self.out_shape) + self.in_shape)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x.new_zeros(self._batch(x.shape, self.in_shape))

    def forward_shape(self, shape: Any) -> Any:
        return self._batch(shape, self.in_shape) + self.out_shape

    def inverse_shape(self, shape: Any) -> Any:
        return self._batch(shape, self.out_shape) + self.in_shape


class SoftmaxTransform(Transform):
    """``exp(x)`` over its sum; the inverse is the logarithm."""

    domain, codomain = constraints.real_vector, constraints.simplex

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SoftmaxTransform)

    __hash__ = Transform.__hash__

    def _call(self, x: Tensor) -> Tensor:
        return x.softmax(-1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()


class StickBreakingTransform(Transform):
    """From n numbers to a simplex of n + 1: each breaks a fraction off the rest."""

    bijective = True
    domain, codomain = constraints.real_vector, constraints.simplex

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StickBreakingTransform)

    __hash__ = Transform.__hash__

    def _left(self, x: Tensor) -> Tensor:
        """How many fractions remain, at each number."""
        count = x.shape[-1]
        return pellucid.arange(count, 0, -1, dtype=x.dtype)

    def _call(self, x: Tensor) -> Tensor:
        fractions = (x - self._left(x).log()).sigmoid()
        rest = (1 - fractions).cumprod(-1)
        return functional.pad(fractions, [0, 1], value=1) * functional.pad(
            rest, [1, 0], value=1
        )

    def _inverse(self, y: Tensor) -> Tensor:
        shares = y[..., :-1]
        rest = 1 - shares.cumsum(-1)
        rest = rest.clamp(min=pellucid.finfo(y.dtype).tiny)
        return shares.log() - rest.log() + self._left(shares).log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        x = x - self._left(x).log()
        return (-x + functional.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        return (*shape[:-1], shape[-1] + 1)

    def inverse_shape(self, shape: Any) -> Any:
        return (*shape[:-1], shape[-1] - 1)


# Triangles


class LowerCholeskyTransform(Transform):
    """Matrices to lower triangles with a positive diagonal."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LowerCholeskyTransform)

    __hash__ = Transform.__hash__

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(0, -2, -1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(0, -2, -1).log().diag_embed()


class PositiveDefiniteTransform(Transform):
    """Matrices to positive definite ones, by their factors."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PositiveDefiniteTransform)

    __hash__ = Transform.__hash__

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(pellucid.linalg.cholesky(y))


class CorrCholeskyTransform(Transform):
    """From n (n - 1) / 2 numbers to the n rows of length 1 of a lower triangle, the
    factor of a correlation matrix (Lewandowski, Kurowicka and Joe 2009).
    """

    bijective = True
    domain, codomain = constraints.real_vector, constraints.corr_cholesky

    def _call(self, x: Tensor) -> Tensor:
        eps = pellucid.finfo(x.dtype).eps
        partial = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), -1)
        rest = (1 - partial.square()).sqrt().cumprod(-1)
        one = pellucid.eye(partial.shape[-1], dtype=x.dtype)
        return (partial + one) * functional.pad(rest[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        squares = 1 - (y * y).cumsum(-1)
        before = functional.pad(squares[..., :-1], [1, 0], value=1)
        x = tril_matrix_to_vec(y, -1) / tril_matrix_to_vec(before, -1).sqrt()
        return (x.log1p() - (-x).log1p()) / 2

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        rest = tril_matrix_to_vec(1 - (y * y).cumsum(-1), -2)
        lengths = 0.5 * rest.log().sum(-1)
        slopes = -2 * (x + functional.softplus(-2 * x) - math.log(2.0)).sum(-1)
        return lengths + slopes

    def forward_shape(self, shape: Any) -> Any:
        size = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != shape[-1]:
            raise ValueError(
                f"{shape[-1]} numbers do not fill a triangle: give 1, 3, 6, 10, ..."
            )
        return (*shape[:-1], size, size)

    def inverse_shape(self, shape: Any) -> Any:
        if shape[-2] != shape[-1]:
            raise ValueError(f"shape {tuple(shape)} holds no square matrix")
        return (*shape[:-2], shape[-1] * (shape[-1] - 1) // 2)


# Joins


class CatTransform(Transform):
    """A transform for each run of ``lengths`` slices along ``dim``."""

    def __init__(
        self,
        tseq: Sequence[Transform],
        dim: int = 0,
        lengths: Sequence[int] | None = None,
        cache_size: int = 0,
    ) -> None:
        super().__init__(cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq]
        self.dim = dim
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)

    @property
    def length(self) -> int:
        """The size of ``dim``."""
        return sum(self.lengths)

    @property
    def event_dim(self) -> int:
        return max(t.event_dim for t in self.transforms)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(t.bijective for t in self.transforms)

    @property
    def domain(self) -> Any:
        parts = [t.domain for t in self.transforms]
        return constraints.cat(parts, self.dim, self.lengths)

    @property
    def codomain(self) -> Any:
        parts = [t.codomain for t in self.transforms]
        return constraints.cat(parts, self.dim, self.lengths)

    def _parts(self, x: Tensor) -> Any:
        if x.shape[self.dim] != self.length:
            raise ValueError(
                f"dim {self.dim} has {x.shape[self.dim]} slices, and the transforms "
                f"take {self.length}"
            )
        return zip(self.transforms, x.split(self.lengths, self.dim), strict=True)

    def _call(self, x: Tensor) -> Tensor:
        return pellucid.cat([t(part) for t, part in self._parts(x)], self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        return pellucid.cat([t.inv(part) for t, part in self._parts(y)], self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        terms = []
        after = y.split(self.lengths, self.dim)
        for (transform, part), image in zip(self._parts(x), after, strict=True):
            term = transform.log_abs_det_jacobian(part, image)
            missing = self.event_dim - transform.event_dim
            terms.append(term.flatten(-missing).sum(-1) if missing else term)
        dim = self.dim if self.dim < 0 else self.dim - x.dim()
        dim += self.event_dim
        if dim < 0:
            return pellucid.cat(terms, dim)
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return total  # type: ignore[no-any-return]


class StackTransform(Transform):
    """A transform for each slice along ``dim``."""

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq]
        self.dim = dim

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(t.bijective for t in self.transforms)

    @property
    def domain(self) -> Any:
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @property
    def codomain(self) -> Any:
        return constraints.stack([t.codomain for t in self.transforms], self.dim)

    def _parts(self, x: Tensor) -> Any:
        if x.shape[self.dim] != len(self.transforms):
            raise ValueError(
                f"dim {self.dim} has {x.shape[self.dim]} slices for "
                f"{len(self.transforms)} transforms"
            )
        return zip(self.transforms, x.unbind(self.dim), strict=True)

    def _call(self, x: Tensor) -> Tensor:
        return pellucid.stack([t(part) for t, part in self._parts(x)], self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        return pellucid.stack([t.inv(part) for t, part in self._parts(y)], self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        terms = [
            transform.log_abs_det_jacobian(part, image)
            for (transform, part), image in zip(
                self._parts(x), y.unbind(self.dim), strict=True
            )
        ]
        return pellucid.stack(terms, self.dim)
