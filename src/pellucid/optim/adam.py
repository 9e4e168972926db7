"""Adam and AdamW, as one op over a group's lists of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.optim.optimizer import (
    Group,
    Optimizer,
    as_real,
    as_real_states,
    check_options,
    with_gradients,
)


class Adam(Optimizer):
    """Adam (Kingma and Ba, 2015).

    With ``m`` and ``v`` the running means of the gradient and its square, step t does
    ``p -= lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps)``. ``amsgrad``
    uses the maximum of v so far (Reddi et al., 2018). ``weight_decay * p`` is added to
    the gradient, or, with ``decoupled_weight_decay``, subtracted from the parameter.
    ``foreach`` and ``fused`` have no effect: every step is fused unless
    ``differentiable``.
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check_options(
            lr=lr,
            foreach=foreach,
            fused=fused,
            differentiable=differentiable,
            eps=eps,
            weight_decay=weight_decay,
        )
        if isinstance(lr, Tensor) and foreach and not capturable:
            raise ValueError("lr as a Tensor with foreach=True needs capturable=True")
        beta: Any
        for index, beta in enumerate(betas):
            if not 0.0 <= beta < 1.0:
                raise ValueError(f"betas[{index}] must be in [0, 1): {beta}")
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)
        self._step_supports_amp_scaling = bool(fused)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("amsgrad", False)
            group.setdefault("maximize", False)
            group.setdefault("foreach", None)
            group.setdefault("capturable", False)
            group.setdefault("differentiable", False)
            group.setdefault("decoupled_weight_decay", False)
            group.setdefault("fused", None)
            for p in group["params"]:
                own = self.state.get(p, {})
                if own and not isinstance(own["step"], Tensor):
                    own["step"] = pellucid.tensor(float(own["step"]))

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates the parameters from their gradients."""
        return self._step_groups(self._update, closure)

    def _new_state(self, p: Tensor, group: Group) -> dict[str, Any]:
        keep = pellucid.preserve_format
        state: dict[str, Any] = self.state[p]
        state["step"] = pellucid.tensor(0.0, dtype=pellucid.float32)
        state["exp_avg"] = pellucid.zeros_like(p, memory_format=keep)
        state["exp_avg_sq"] = pellucid.zeros_like(p, memory_format=keep)
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = pellucid.zeros_like(p, memory_format=keep)
        return state

    def _update(self, group: Group) -> None:
        params, grads = with_gradients(group)
        if not params:
            return
        if group["capturable"]:
            raise AssertionError(
                "capturable=True is for device graphs, which the CPU lacks; leave "
                "it out"
            )
        state = self.state
        states = [state[p] or self._new_state(p, group) for p in params]
        if group["differentiable"]:
            if self._has_complex:
                raise NotImplementedError(
                    f"{type(self).__name__}(differentiable=True) takes no complex "
                    "parameters: give it their view_as_real"
                )
            for p, own in zip(params, states, strict=True):
                _update_differentiably(p, own, group)
            return
        self._fused(params, grads, states, group)

    def _fused(
        self,
        params: list[Tensor],
        grads: list[Tensor],
        states: list[dict[str, Any]],
        group: Group,
    ) -> None:
        amsgrad = group["amsgrad"]
        beta1, beta2 = group["betas"]
        steps = [state["step"] for state in states]
        pellucid._foreach_add_(steps, 1)
        if self._has_complex:
            params, grads = as_real(params), as_real(grads)
            states = as_real_states(states)
        decoupled = group["decoupled_weight_decay"]
        update = pellucid._fused_adamw_ if decoupled else pellucid._fused_adam_
        update(
            params,
            grads,
            [state["exp_avg"] for state in states],
            [state["exp_avg_sq"] for state in states],
            [state["max_exp_avg_sq"] for state in states] if amsgrad else [],
            steps,
            lr=group["lr"],
            beta1=beta1,
            beta2=beta2,
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            amsgrad=amsgrad,
            maximize=group["maximize"],
            grad_scale=self.__dict__.get("grad_scale"),
            found_inf=self.__dict__.get("found_inf"),
        )


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019)."""

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True


def _update_differentiably(p: Tensor, state: dict[str, Any], group: Group) -> None:
    """One parameter's step by ops that record gradients.

    The state is replaced, not changed in place, so tensors saved for backward stay
    valid.
    """
    beta1, beta2 = group["betas"]
    lr, weight_decay = group["lr"], group["weight_decay"]
    step = state["step"]
    step += 1
    assert p.grad is not None  # the caller passes only parameters with a gradient
    grad = -p.grad if group["maximize"] else p.grad
    if weight_decay:
        if group["decoupled_weight_decay"]:
            p.mul_(1 - lr * weight_decay)
        else:
            grad = grad + p.clone() * weight_decay
    mean = state["exp_avg"] = state["exp_avg"].lerp(grad, 1 - beta1)
    square = state["exp_avg_sq"] * beta2 + grad * grad * (1 - beta2)
    state["exp_avg_sq"] = square
    if group["amsgrad"]:
        square = pellucid.maximum(state["max_exp_avg_sq"], square)
        state["max_exp_avg_sq"] = square
    correction1 = 1 - beta1 ** step.clone()
    correction2 = 1 - beta2 ** step.clone()
    denominator = (square / correction2).sqrt() + group["eps"]
    p.sub_(lr / correction1 * mean / denominator)
