"""Adagrad and Adadelta: rates from the squares of all or recent gradients."""

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


class Adagrad(FusedOptimizer):
    """Adagrad (Duchi et al., 2011).

    ``sum += grad^2``; ``p -= lr / (1 + (t - 1) lr_decay) * grad / (sqrt(sum) + eps)``.
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(
            params,
            defaults,
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            eps=eps,
        )
        for group in self.param_groups:
            for p in group["params"]:
                self._start(p, group)

    def _new_state(self, p: Tensor, group: Group) -> State:
        return {"sum": filled_like(p, group["initial_accumulator_value"])}

    def share_memory(self) -> None:
        """Moves the state to shared memory."""
        for state in self.state.values():
            state["sum"].share_memory_()

    def _run(
        self,
        params: list[Tensor],
        grads: list[Tensor],
        states: list[State],
        steps: list[Tensor],
        group: Group,
    ) -> None:
        pellucid._fused_adagrad_(
            params,
            grads,
            column(states, "sum"),
            steps,
            lr=number(group["lr"]),
            lr_decay=group["lr_decay"],
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            maximize=group["maximize"],
        )


class Adadelta(FusedOptimizer):
    """Adadelta (Zeiler, 2012): steps in the parameter's units."""

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"rho must be in [0, 1]: {rho}")
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults, eps=eps, weight_decay=weight_decay)

    def _new_state(self, p: Tensor, group: Group) -> State:
        return zeros_of(p, "square_avg", "acc_delta")

    def _run(
        self,
        params: list[Tensor],
        grads: list[Tensor],
        states: list[State],
        steps: list[Tensor],
        group: Group,
    ) -> None:
        pellucid._C._pellucid._fused_adadelta_(
            params,
            grads,
            column(states, "square_avg"),
            column(states, "acc_delta"),
            lr=number(group["lr"]),
            rho=group["rho"],
            eps=group["eps"],
            weight_decay=group["weight_decay"],
            maximize=group["maximize"],
        )
