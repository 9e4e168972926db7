"""Calls of ``torch.func`` that ``check_programs.py`` draws: a transform of a call and
at random of an op on its result.
"""

from __future__ import annotations

import random
from typing import Any

TRANSFORMS = ("vmap", "vmap", "vmap", "grad", "jvp", "vjp", "jacrev", "jacfwd")
THEN = ("", "", "sin", "exp", "sum", "relu", "abs", "cumsum", "square", "t", "amax")


class Transformed:
    """A function of one operand, ``step``, under the transform ``name``; the tensors of
    the pool that ``step`` does not vary are constants.
    """

    form = "func"

    def __init__(self, draw: random.Random, step: Any, varied: int) -> None:
        self.step, self.varied = step, varied
        self.name, self.then = draw.choice(TRANSFORMS), draw.choice(THEN)
        self.dim = draw.choice((0, 0, 0, -1))

    def __str__(self) -> str:
        return f"func.{self.name}(t{self.varied} -> {self.then}({self.step}))"

    def operands(self) -> list[int]:
        return [self.varied, *self.step.operands()]

    def run(self, side: Any, pool: list[Any]) -> Any:
        pool = [x.detach() for x in pool]
        x = pool[self.varied]

        def function(value: Any) -> Any:
            changed = [*pool]
            changed[self.varied] = value
            result = self.step.run(side, changed)
            if isinstance(result, (list, tuple)):
                result = result[0]
            then = getattr(side, self.then, None)
            if then is None:
                return result
            return then(result, 0) if self.then == "cumsum" else then(result)

        def total(value: Any) -> Any:
            result = function(value)
            return (result.abs() if result.is_complex() else result).sum()

        func = side.func
        if self.name == "vmap":
            made = func.vmap(function, in_dims=self.dim, randomness="error")(x)
        elif self.name == "grad":
            made = func.grad(total)(x)
        elif self.name == "jvp":
            made = func.jvp(function, (x,), (side.ones_like(x),))
        elif self.name == "vjp":
            value, back = func.vjp(function, x)
            made = value, *back(side.ones_like(value))
        else:
            made = getattr(func, self.name)(function)(x)
        return [r.clone() for r in (made if isinstance(made, tuple) else (made,))]
