"""``torch.quasirandom``: low-discrepancy sequences in the unit cube.

The Sobol sequence uses the direction numbers of Joe and Kuo (2008), taken from SciPy.
Scrambling is Matousek's (1998): every point's bits, as a vector, are multiplied by a
random triangular matrix, and a random shift is added.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._package.calls.out_argument import write_out

__all__ = ["SobolEngine"]


class SobolEngine:
    """A Sobol sequence in ``dimension`` dims, which :meth:`draw` continues.

    ``scramble`` randomizes it, by ``seed`` or by the default generator. Raises
    ValueError for more than ``MAXDIM`` dims. Needs SciPy.

    Example::

        >>> torch.quasirandom.SobolEngine(2).draw(3)
        tensor([[0.0000, 0.0000],
                [0.5000, 0.5000],
                [0.7500, 0.2500]])
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(
        self, dimension: int, scramble: bool = False, seed: int | None = None
    ) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(
                f"a Sobol sequence has 1 to {self.MAXDIM} dims, not {dimension}"
            )
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        self.num_generated = 0
        self._points = _sequence(dimension, self.MAXBIT)
        self.shift = pellucid.zeros(dimension, dtype=pellucid.int64)
        self._rows: Tensor | None = None
        if scramble:
            self._draw_scrambling()

    def _draw_scrambling(self) -> None:
        generator = None
        if self.seed is not None:
            generator = pellucid.Generator().manual_seed(self.seed)
        sizes = (self.dimension, self.MAXBIT)
        bits = pellucid.randint(2, sizes, generator=generator)
        self.shift = (bits << pellucid.arange(self.MAXBIT)).sum(1)
        rows = pellucid.randint(2, (*sizes, self.MAXBIT), generator=generator).tril()
        rows.diagonal(dim1=-2, dim2=-1).fill_(1)
        self._rows = rows

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """The next ``n`` points, as rows of a float tensor."""
        first = self._points.random(1 if self.num_generated == 0 and n else 0)
        rest = self._points.random(n - len(first))
        self.num_generated += n
        points = pellucid.cat([_integers(part, self.MAXBIT) for part in (first, rest)])
        if self._rows is not None:
            points = self._scrambled(points) ^ self.shift
        dtype = dtype or pellucid.get_default_dtype()
        return write_out(points.to(dtype) * 2.0**-self.MAXBIT, out)

    def _scrambled(self, points: Tensor) -> Tensor:
        """Each point's bits times the rows of its dim, the highest bit first."""
        assert self._rows is not None
        places = pellucid.arange(self.MAXBIT - 1, -1, -1)
        result = pellucid.zeros_like(points)
        for row, place in zip(self._rows.unbind(1), places.tolist(), strict=True):
            together = points & (row << places).sum(1)
            parity = (together.unsqueeze(-1) >> places & 1).sum(-1) & 1
            result |= parity << place
        return result

    def draw_base2(
        self, m: int, out: Tensor | None = None, dtype: Any = None
    ) -> Tensor:
        """The next ``2**m`` points; ValueError unless a power of two is then drawn."""
        total = self.num_generated + 2**m
        if total & (total - 1):
            raise ValueError(
                f"{self.num_generated} points were drawn: with 2^{m} more they "
                "are not a power of two, and not balanced; use draw() for any number "
                "of points"
            )
        return self.draw(2**m, out=out, dtype=dtype)

    def reset(self) -> SobolEngine:
        """Restarts the sequence."""
        self._points.reset()
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Skips the next ``n`` points."""
        self._points.fast_forward(n)
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        options = [f"dimension={self.dimension}"]
        if self.scramble:
            options.append("scramble=True")
        if self.seed is not None:
            options.append(f"seed={self.seed}")
        return f"SobolEngine({', '.join(options)})"


def _sequence(dimension: int, bits: int) -> Any:
    try:
        qmc: Any = import_module("scipy.stats.qmc")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "SobolEngine takes its direction numbers from SciPy: pip install scipy",
            name=error.name,
        ) from error
    return qmc.Sobol(dimension, scramble=False, bits=bits)


def _integers(points: Any, bits: int) -> Tensor:
    """Points of the unit cube in units of the lowest bit."""
    return (pellucid.from_numpy(points) * 2.0**bits).to(pellucid.int64)
