"""Stochastic gradient descent, as one op over a group's lists of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.optim.optimizer import (
    Group,
    Optimizer,
    as_real,
    check_options,
    with_gradients,
)


class SGD(Optimizer):
    """Stochastic gradient descent with momentum.

    ``grad += weight_decay * p``; ``buffer = momentum * buffer + (1 - dampening) *
    grad`` (the first buffer is grad); ``p -= lr * buffer``, or with ``nesterov``
    ``p -= lr * (grad + momentum * buffer)``. ``foreach`` and ``fused`` have no effect:
    every step is fused unless ``differentiable``.
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_options(
            lr=lr,
            foreach=foreach,
            fused=fused,
            differentiable=differentiable,
            momentum=momentum,
            weight_decay=weight_decay,
        )
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("nesterov needs momentum > 0 and dampening = 0")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        self._step_supports_amp_scaling = bool(fused)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("nesterov", False)
            group.setdefault("maximize", False)
            group.setdefault("foreach", None)
            group.setdefault("differentiable", False)
            group.setdefault("fused", False)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates the parameters from their gradients."""
        return self._step_groups(self._update, closure)

    def _update(self, group: Group) -> None:
        params, grads = with_gradients(group)
        if not params:
            return
        if group["differentiable"]:
            self._update_differentiably(params, group)
            return
        if not group["momentum"]:
            self._fused(params, grads, [], group, False)
            return
        states = [self.state[p] for p in params]
        buffers = [state.get("momentum_buffer") for state in states]
        fresh = [i for i, buffer in enumerate(buffers) if buffer is None]
        if not fresh:
            self._fused(params, grads, buffers, group, False)
            return
        for i in fresh:
            buffers[i] = states[i]["momentum_buffer"] = pellucid.empty_like(params[i])
        for first in (True, False):
            chosen = [i for i in range(len(params)) if (i in fresh) == first]
            if chosen:
                self._fused(
                    [params[i] for i in chosen],
                    [grads[i] for i in chosen],
                    [buffers[i] for i in chosen],
                    group,
                    first,
                )

    def _fused(
        self,
        params: list[Tensor],
        grads: list[Tensor],
        buffers: list[Any],
        group: Group,
        first: bool,
    ) -> None:
        if self._has_complex:
            params, grads, buffers = as_real(params), as_real(grads), as_real(buffers)
        pellucid._fused_sgd_(
            params,
            grads,
            buffers,
            weight_decay=group["weight_decay"],
            momentum=group["momentum"],
            lr=group["lr"],
            dampening=group["dampening"],
            nesterov=group["nesterov"],
            maximize=group["maximize"],
            is_first_step=first,
            grad_scale=self.__dict__.get("grad_scale"),
            found_inf=self.__dict__.get("found_inf"),
        )

    def _update_differentiably(self, params: list[Tensor], group: Group) -> None:
        """The same by ops that record gradients; the state is replaced each time."""
        for p in params:
            assert p.grad is not None  # the caller skips others
            grad = -p.grad if group["maximize"] else p.grad
            if isinstance(group["weight_decay"], Tensor) or group["weight_decay"]:
                grad = grad + p.clone() * group["weight_decay"]
            momentum = group["momentum"]
            if momentum:
                state = self.state[p]
                buffer = state.get("momentum_buffer")
                if buffer is None:
                    buffer = grad
                else:
                    buffer = buffer * momentum + grad * (1 - group["dampening"])
                state["momentum_buffer"] = buffer
                grad = grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer
            p.sub_(grad * group["lr"])
