"""``lobpcg``: the greatest or least eigenpairs of a large symmetric matrix.

By the locally optimal block preconditioned conjugate gradient method (Knyazev 2001):
each round finds the best vectors in the span of the last ones, their residuals and the
last steps. Imported lazily.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pellucid
from pellucid import Tensor, linalg
from pellucid._package.calls import offered

_Pairs = tuple[Tensor, Tensor]
_METHODS = ("basic", "ortho")


@offered.function
def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Callable[[Any], None] | None = None,
    ortho_iparams: dict[str, int] | None = None,
    ortho_fparams: dict[str, float] | None = None,
    ortho_bparams: dict[str, bool] | None = None,
) -> _Pairs:
    """``(E, V)`` with ``A @ V = B @ V * E``: ``k`` eigenvalues (..., k), descending if
    ``largest``, and their vectors (..., m, k), orthonormal under ``B``.

    ``A`` (..., m, m) is symmetric, ``B`` symmetric and positive definite (the identity
    if None). ``X`` (..., m, n) are first guesses, drawn by ``randn`` if None; ``iK``
    approximates the inverse of ``A``. Rounds end at ``niter`` (1000; no limit if
    negative) or where all residuals are below ``tol`` relative to the matrices' norms.
    Both methods and their parameters name the same orthogonalization here; ``tracker``
    is refused. Where ``A`` or ``B`` needs a gradient, the pairs come from the whole
    decomposition. Raises ValueError where ``m < 3 * n``::

        values, vectors = torch.lobpcg(torch.diag(torch.arange(1.0, 100.0)), k=2)
    """
    assert A.shape[-2] == A.shape[-1], f"A must be square, got shape {A.shape}"
    if B is not None:
        assert A.shape == B.shape, (
            f"A and B must have same shape, got {A.shape} vs {B.shape}"
        )
    if not A.is_floating_point():
        raise RuntimeError(f"lobpcg takes real floating-point matrices, not {A.dtype}")
    if method is not None and method not in _METHODS:
        raise ValueError(f"method is {method!r}: it is one of {_METHODS}")
    if tracker is not None:
        raise NotImplementedError("lobpcg calls no tracker: leave it out")
    m = A.shape[-1]
    pairs = (1 if X is None else X.shape[-1]) if k is None else k
    guesses = (pairs if n is None else n) if X is None else X.shape[-1]
    if m < 3 * guesses:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={m}) is "
            f"smaller than 3 x the number of requested eigenpairs (={guesses})"
        )
    if pellucid.is_grad_enabled() and (
        A.requires_grad or (B is not None and B.requires_grad)
    ):
        return _of_all(A, B, pairs, largest is not False)
    if X is None:
        X = pellucid.randn((*A.shape[:-2], m, guesses), dtype=A.dtype, device=A.device)
    tol = pellucid.finfo(A.dtype).eps ** 0.5 if tol is None else tol
    rounds = 1000 if niter is None else niter
    with pellucid.no_grad():
        found = [
            _Search(a, b, inverse, x).run(rounds, tol, largest is not False)
            for a, b, inverse, x in zip(
                *(_matrices(t, A) for t in (A, B, iK)),
                X.reshape(-1, m, guesses),
                strict=True,
            )
        ]
        batch = A.shape[:-2]
        values = pellucid.stack([e[:pairs] for e, _ in found]).reshape(*batch, pairs)
        vectors = pellucid.stack([v[:, :pairs] for _, v in found])
        return values, vectors.reshape(*batch, m, pairs)


def _matrices(given: Tensor | None, A: Tensor) -> list[Any]:
    """One by one, in the order of those of ``A``; None for each without any."""
    if given is None:
        return [None] * math.prod(A.shape[:-2])
    return list(given.expand(A.shape).reshape(-1, *A.shape[-2:]))


def _of_all(A: Tensor, B: Tensor | None, k: int, largest: bool) -> _Pairs:
    if B is None:
        values, vectors = linalg.eigh(A)
    else:
        factor = linalg.cholesky(B)
        half = linalg.solve_triangular(factor, A, upper=False)
        inner = linalg.solve_triangular(factor, half.mT, upper=False)
        values, vectors = linalg.eigh(inner)
        vectors = linalg.solve_triangular(factor.mT, vectors, upper=True)
    if largest:
        values, vectors = values.flip(-1), vectors.flip(-1)
    return values[..., :k], vectors[..., :k]


class _Search:
    """The rounds for one matrix."""

    def __init__(
        self, A: Tensor, B: Tensor | None, inverse: Tensor | None, X: Tensor
    ) -> None:
        self.A, self.B, self.inverse, self.X = A, B, inverse, X

    def run(self, rounds: int, tol: float, largest: bool) -> _Pairs:
        """The pairs after at most ``rounds`` (no limit if negative)."""
        basis, count = self.X, self.X.shape[-1]
        values, vectors = self._best(basis, count, largest)
        steps: Tensor | None = None
        scale = linalg.matrix_norm(self.A)
        done = 0
        while done != rounds:
            residual = self.A @ vectors - self._weigh(vectors) * values
            error = linalg.vector_norm(residual, dim=0)
            bound = tol * scale * linalg.vector_norm(vectors, dim=0)
            if bool((error <= bound).all()):
                break
            directions = residual if self.inverse is None else self.inverse @ residual
            parts = [vectors, _unit(directions)]
            if steps is not None:
                parts.append(_unit(steps))
            values, better = self._best(pellucid.cat(parts, 1), count, largest)
            steps = better - vectors @ (self._weigh(vectors).mT @ better)
            vectors = better
            done += 1
        return values, vectors

    def _weigh(self, x: Tensor) -> Tensor:
        return x if self.B is None else self.B @ x

    def _best(self, basis: Tensor, count: int, largest: bool) -> _Pairs:
        """The best ``count`` pairs in the span of ``basis`` (Rayleigh and Ritz)."""
        basis = self._orthonormal(basis)
        values, mixed = linalg.eigh(basis.mT @ (self.A @ basis))
        if largest:
            values, mixed = values.flip(0), mixed.flip(1)
        return values[:count], basis @ mixed[:, :count]

    def _orthonormal(self, basis: Tensor) -> Tensor:
        """Columns that span the same and are orthonormal under ``B``; twice, for once
        leaves the errors of nearly dependent columns.
        """
        basis = linalg.qr(basis).Q
        if self.B is None:
            return basis
        for _ in range(2):
            factor = linalg.cholesky(basis.mT @ self._weigh(basis))
            basis = linalg.solve_triangular(factor, basis.mT, upper=False).mT
        return basis


def _unit(x: Tensor) -> Tensor:
    return x / linalg.vector_norm(x, dim=0).clamp_min(pellucid.finfo(x.dtype).tiny)
