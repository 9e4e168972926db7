"""Adamax, NAdam and RAdam."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.optim._fused import (
    FusedOptimizer,
    State,
    check_betas,
    column,
    number,
    zeros_of,
)
from pellucid.optim.optimizer import Group

_Betas = tuple[float | Tensor, float | Tensor]


class Adamax(FusedOptimizer):
    """Adam with the infinity norm (Kingma and Ba, 2015)."""

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 2e-3,
        betas: _Betas = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_betas(betas)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults, eps=eps, weight_decay=weight_decay)

    def _new_state(self, p: Tensor, group: Group) -> State:
        return zeros_of(p, "exp_avg", "exp_inf")

    def _run(
        self,
        params: list[Tensor],
        grads: list[Tensor],
        states: list[State],
        steps: list[Tensor],
        group: Group,
    ) -> None:
        beta1, beta2 = group["betas"]
        pellucid._C._pellucid._fused_adamax_(
            params,
            grads,
            column(states, "exp_avg"),
            column(states, "exp_inf"),
            steps,
            lr=number(group["lr"]),
            beta1=number(beta1),
            beta2=number(beta2),
            eps=group["eps"],
            weight_decay=group["weight_decay"],
            maximize=group["maximize"],
        )


class NAdam(FusedOptimizer):
    """Adam with Nesterov momentum (Dozat, 2016)."""

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 2e-3,
        betas: _Betas = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_betas(betas)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(
            params,
            defaults,
            eps=eps,
            weight_decay=weight_decay,
            momentum_decay=momentum_decay,
        )

    def _new_state(self, p: Tensor, group: Group) -> State:
        product = pellucid.ones((), dtype=pellucid.float32)
        return {"mu_product": product, **zeros_of(p, "exp_avg", "exp_avg_sq")}

    def _run(
        self,
        params: list[Tensor],
        grads: list[Tensor],
        states: list[State],
        steps: list[Tensor],
        group: Group,
    ) -> None:
        beta1, beta2 = (number(beta) for beta in group["betas"])
        decay = group["momentum_decay"]
        products = column(states, "mu_product")
        for product, step in zip(products, steps, strict=True):
            product.mul_(beta1 * (1.0 - 0.5 * 0.96 ** (float(step) * decay)))
        pellucid._C._pellucid._fused_nadam_(
            params,
            grads,
            column(states, "exp_avg"),
            column(states, "exp_avg_sq"),
            products,
            steps,
            lr=number(group["lr"]),
            beta1=beta1,
            beta2=beta2,
            weight_decay=group["weight_decay"],
            momentum_decay=decay,
            eps=group["eps"],
            decoupled_weight_decay=group["decoupled_weight_decay"],
            maximize=group["maximize"],
        )


class RAdam(FusedOptimizer):
    """Adam that takes plain steps until its variance is known (Liu et al., 2020)."""

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: _Betas = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_betas(betas)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults, eps=eps, weight_decay=weight_decay)

    def _new_state(self, p: Tensor, group: Group) -> State:
        return zeros_of(p, "exp_avg", "exp_avg_sq")

    def _run(
        self,
        params: list[Tensor],
        grads: list[Tensor],
        states: list[State],
        steps: list[Tensor],
        group: Group,
    ) -> None:
        beta1, beta2 = group["betas"]
        pellucid._C._pellucid._fused_radam_(
            params,
            grads,
            column(states, "exp_avg"),
            column(states, "exp_avg_sq"),
            steps,
            lr=number(group["lr"]),
            beta1=number(beta1),
            beta2=number(beta2),
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            decoupled_weight_decay=group["decoupled_weight_decay"],
            maximize=group["maximize"],
        )
