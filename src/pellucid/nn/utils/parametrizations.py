"""Parametrizations by name: orthogonal, weight_norm and spectral_norm."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.nn import functional
from pellucid.nn.modules.module import Module
from pellucid.nn.utils._orthogonal import MAPS, Orthogonal
from pellucid.nn.utils.parametrize import register_parametrization

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def orthogonal(
    module: Module,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Module:
    """Keeps a weight's columns orthonormal, or the rows if it is wide.

    ``orthogonal_map`` is "matrix_exp" (the default for square weights), "cayley" or
    "householder" (the default for others). Raises ValueError for any other name and for
    weights of fewer than two dims.

    Example::

        layer = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(20, 40))
        layer.weight.T @ layer.weight  # the identity
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"{type(module).__name__} has no parameter {name!r}")
    if weight.dim() < 2:
        raise ValueError(
            f"a weight of {weight.dim()} dims has no columns: give matrices"
        )
    if orthogonal_map is None:
        is_square = weight.size(-2) == weight.size(-1) or weight.is_complex()
        orthogonal_map = "matrix_exp" if is_square else "householder"
    if orthogonal_map not in MAPS:
        raise ValueError(
            f"there is no orthogonal map {orthogonal_map!r}: give one of "
            f"{', '.join(MAPS)}"
        )
    rule = Orthogonal(weight, orthogonal_map, use_trivialization)
    return register_parametrization(module, name, rule, unsafe=True)


def _norm_except(weight: Tensor, dim: int) -> Tensor:
    """The 2-norm over all dims except ``dim``; over all dims if it is -1."""
    if dim == -1:
        return weight.norm()
    others = [d for d in range(weight.dim()) if d != dim % weight.dim()]
    return pellucid.linalg.vector_norm(weight, 2, others, keepdim=True)


class _WeightNorm(Module):
    """``g * v / |v|``, with norm ``g`` and direction ``v``."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_v * (weight_g / _norm_except(weight_v, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return _norm_except(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int = 0) -> Module:
    """Splits a weight into norm (``original0``) and direction (``original1``)
    (Salimans and Kingma, 2016).
    """
    return register_parametrization(module, name, _WeightNorm(dim), unsafe=True)


class _SpectralNorm(Module):
    """The weight over its largest singular value, by power iteration."""

    def __init__(
        self,
        weight: Tensor,
        n_power_iterations: int = 1,
        dim: int = 0,
        eps: float = 1e-12,
    ) -> None:
        super().__init__()
        if n_power_iterations <= 0:
            raise ValueError(
                f"n_power_iterations must be positive: {n_power_iterations}"
            )
        self.dim = dim if dim >= 0 else dim + weight.dim()
        self.eps = eps
        if weight.dim() > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._matrix(weight)
            rows, columns = matrix.shape
            u = functional.normalize(matrix.new_empty(rows).normal_(), dim=0, eps=eps)
            v = functional.normalize(
                matrix.new_empty(columns).normal_(), dim=0, eps=eps
            )
            self.register_buffer("_u", u)
            self.register_buffer("_v", v)
            self._iterate(matrix, 15)

    def _matrix(self, weight: Tensor) -> Tensor:
        return weight.movedim(self.dim, 0).flatten(1)

    def _iterate(self, matrix: Tensor, count: int) -> None:
        with pellucid.no_grad():
            for _ in range(count):
                u = functional.normalize(matrix.mv(self._v), dim=0, eps=self.eps)
                self._u.copy_(u)
                v = functional.normalize(matrix.T.mv(self._u), dim=0, eps=self.eps)
                self._v.copy_(v)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.dim() == 1:
            return functional.normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()
        result: Tensor = weight / u.dot(matrix.mv(v))
        return result

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divides a weight by its largest singular value (Miyato et al., 2018)."""
    weight: Any = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"{type(module).__name__} has no parameter {name!r}")
    if dim is None:
        dim = 1 if getattr(module, "transposed", False) else 0
    norm = _SpectralNorm(weight, n_power_iterations, dim, eps)
    return register_parametrization(module, name, norm)
