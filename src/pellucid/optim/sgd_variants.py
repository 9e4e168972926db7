"""ASGD and Rprop."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.optim._fused import (
    FusedOptimizer,
    State,
    column,
    filled_like,
    number,
    zeros_of,
)
from pellucid.optim.optimizer import Group


class ASGD(FusedOptimizer):
    """Averaged stochastic gradient descent (Polyak and Juditsky, 1992).

    The state ``ax`` of each parameter is its average.
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults, weight_decay=weight_decay)

    def _new_state(self, p: Tensor, group: Group) -> State:
        rate = number(group["lr"])
        return {
            "eta": pellucid.tensor(rate, dtype=pellucid.float32),
            "mu": pellucid.ones((), dtype=pellucid.float32),
            **zeros_of(p, "ax"),
        }

    def _run(
        self,
        params: list[Tensor],
        grads: list[Tensor],
        states: list[State],
        steps: list[Tensor],
        group: Group,
    ) -> None:
        pellucid._C._pellucid._fused_asgd_(
            params,
            grads,
            column(states, "ax"),
            column(states, "mu"),
            column(states, "eta"),
            lambd=group["lambd"],
            weight_decay=group["weight_decay"],
            maximize=group["maximize"],
        )
        rate, lambd = number(group["lr"]), group["lambd"]
        for state, step in zip(states, steps, strict=True):
            count = float(step)
            state["eta"].fill_(rate / (1 + lambd * rate * count) ** group["alpha"])
            state["mu"].fill_(1 / max(1.0, count - group["t0"]))


class Rprop(FusedOptimizer):
    """Step sizes per element, adapted by the gradient's sign (Riedmiller and Braun,
    1993).
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"etas must be one below 1 and one above: {etas}")
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _new_state(self, p: Tensor, group: Group) -> State:
        sizes = filled_like(p, number(group["lr"]))
        return {"step_size": sizes, **zeros_of(p, "prev")}

    def _run(
        self,
        params: list[Tensor],
        grads: list[Tensor],
        states: list[State],
        steps: list[Tensor],
        group: Group,
    ) -> None:
        etaminus, etaplus = group["etas"]
        least, most = group["step_sizes"]
        pellucid._C._pellucid._fused_rprop_(
            params,
            grads,
            column(states, "prev"),
            column(states, "step_size"),
            etaminus=etaminus,
            etaplus=etaplus,
            step_size_min=least,
            step_size_max=most,
            maximize=group["maximize"],
        )
