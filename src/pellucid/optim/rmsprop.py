"""RMSprop: the gradient over the root of its mean square."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.optim._fused import FusedOptimizer, State, column, number, zeros_of
from pellucid.optim.optimizer import Group


class RMSprop(FusedOptimizer):
    """RMSprop (Hinton, 2012; ``centered``: Graves, 2013), with momentum.

    ``v = alpha v + (1 - alpha) grad^2``; ``p -= lr * grad / (sqrt(v) + eps)``.
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(
            params,
            defaults,
            eps=eps,
            momentum=momentum,
            weight_decay=weight_decay,
            alpha=alpha,
        )

    def _new_state(self, p: Tensor, group: Group) -> State:
        names = ["square_avg"]
        names += ["momentum_buffer"] if group["momentum"] > 0 else []
        names += ["grad_avg"] if group["centered"] else []
        return zeros_of(p, *names)

    def _run(
        self,
        params: list[Tensor],
        grads: list[Tensor],
        states: list[State],
        steps: list[Tensor],
        group: Group,
    ) -> None:
        pellucid._C._pellucid._fused_rmsprop_(
            params,
            grads,
            column(states, "square_avg"),
            column(states, "momentum_buffer") if group["momentum"] > 0 else [],
            column(states, "grad_avg") if group["centered"] else [],
            lr=number(group["lr"]),
            alpha=group["alpha"],
            eps=group["eps"],
            weight_decay=group["weight_decay"],
            momentum=group["momentum"],
            maximize=group["maximize"],
        )
