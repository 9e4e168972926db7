"""The parametrization of weights with orthonormal columns, or rows of wide ones.

A skew matrix is mapped to a rotation (Lezcano-Casado and Martinez-Rubio 2019), or
Householder vectors are multiplied out. Used by ``parametrizations.orthogonal``.
"""

from __future__ import annotations

import pellucid
from pellucid import Tensor, linalg
from pellucid.nn.modules.module import Module

MAPS = ("matrix_exp", "cayley", "householder")


class Orthogonal(Module):
    """Maps a weight without constraint to an orthogonal one.

    With ``use_trivialization`` the map starts from ``base``, the orthogonal weight that
    was last assigned.
    """

    base: Tensor | None

    def __init__(self, weight: Tensor, map_name: str, use_trivialization: bool) -> None:
        super().__init__()
        self.shape = weight.shape
        self.map_name = map_name
        self.use_trivialization = use_trivialization
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, weight: Tensor) -> Tensor:
        is_wide = weight.size(-2) < weight.size(-1)
        tall = weight.mT if is_wide else weight
        if self.map_name == "householder":
            found = _reflections(tall)
        else:
            found = self._rotation(tall)
        if self.use_trivialization and self.base is not None:
            found = self.base @ found
        return found.mT if is_wide else found

    def _rotation(self, tall: Tensor) -> Tensor:
        """The columns of the rotation of which the lower triangle is the generator."""
        rows, columns = tall.shape[-2:]
        lower = tall.tril()
        if rows != columns:
            none = lower.new_zeros(*lower.shape[:-2], rows, rows - columns)
            lower = pellucid.cat([lower, none], -1)
        skew = lower - lower.mH
        if self.map_name == "matrix_exp":
            rotation = linalg.matrix_exp(skew)
        else:
            one = pellucid.eye(rows, dtype=skew.dtype, device=skew.device)
            rotation = linalg.solve(one - 0.5 * skew, one + 0.5 * skew)
        return rotation[..., :columns]

    def right_inverse(self, weight: Tensor) -> Tensor:
        """What ``forward`` maps to ``weight``, made orthogonal if it is not."""
        if weight.shape != self.shape:
            raise ValueError(
                f"a weight of shape {tuple(self.shape)} was expected, not "
                f"{tuple(weight.shape)}"
            )
        is_wide = weight.size(-2) < weight.size(-1)
        tall = weight.mT if is_wide else weight
        if not self.use_trivialization:
            vectors = self._vectors_of(tall)
            return vectors.mT if is_wide else vectors
        rows, columns = tall.shape[-2:]
        if rows != columns:
            more = pellucid.randn(
                *tall.shape[:-2], rows, rows - columns, dtype=tall.dtype
            )
            self.base = _orthogonalized(pellucid.cat([tall, more], -1))
        else:
            self.base = tall.clone() if _is_orthogonal(tall) else _orthogonalized(tall)
        start = pellucid.zeros_like(weight)
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)  # which all maps take to one
        return start

    def _vectors_of(self, tall: Tensor) -> Tensor:
        if self.map_name != "householder":
            raise NotImplementedError(
                f"the map {self.map_name!r} cannot be inverted: "
                "use_trivialization=True starts it from any weight"
            )
        vectors, tau = pellucid.geqrf(tall)
        signs = vectors.diagonal(dim1=-2, dim2=-1)
        signs.sign_()
        signs[tau == 0] *= -1
        return vectors


def _reflections(tall: Tensor) -> Tensor:
    """The product of the reflections at the columns; the diagonal has signs."""
    vectors = tall.tril(-1)
    tau = 2.0 / (1.0 + (vectors * vectors.conj()).sum(-2))
    found = linalg.householder_product(vectors, tau)
    return found * tall.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)


def _orthogonalized(matrix: Tensor) -> Tensor:
    vectors, tau = pellucid.geqrf(matrix)
    found = linalg.householder_product(vectors, tau)
    return found * vectors.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def _is_orthogonal(matrix: Tensor) -> bool:
    rows, columns = matrix.shape[-2:]
    if rows < columns:
        return False
    one = pellucid.eye(columns, dtype=matrix.dtype, device=matrix.device)
    bound = 10 * rows * pellucid.finfo(matrix.dtype).eps
    return pellucid.allclose(matrix.mH @ matrix, one, atol=bound)
