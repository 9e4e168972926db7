"""``Chi2``."""

from __future__ import annotations

from typing import Any, ClassVar

import pellucid
from pellucid import Tensor
from pellucid.distributions import constraints
from pellucid.distributions.gamma import Gamma

__all__ = ["Chi2"]


class Chi2(Gamma):
    """The sum of squares of ``df`` standard normal numbers."""

    arg_constraints: ClassVar = {"df": constraints.positive}

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        half = 0.5 * df
        rate = pellucid.full_like(half, 0.5) if isinstance(half, Tensor) else 0.5
        super().__init__(half, rate, validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return type(self)(self.df.expand(batch_shape), validate_args=False)

    @property
    def df(self) -> Tensor:
        """The number of squares."""
        return self.concentration * 2
