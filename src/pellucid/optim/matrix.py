"""Adafactor and Muon: steps that treat a parameter as a matrix."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.optim._fused import number
from pellucid.optim.optimizer import Group, Optimizer, check_options, with_gradients


class Adafactor(Optimizer):
    """Adam's second moment as a product of a row and a column (Shazeer and Stern,
    2018).

    ``lr`` bounds the relative step; ``eps`` are the minimum variance and the minimum
    scale of a parameter, ``d`` the maximum root mean square of an update.
    """

    _takes_complex = False

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check_options(
            lr=lr,
            foreach=foreach,
            fused=None,
            differentiable=False,
            weight_decay=weight_decay,
        )
        if beta2_decay > 0:
            raise ValueError(f"beta2_decay must not be positive: {beta2_decay}")
        if (eps[0] is not None and eps[0] < 0) or eps[1] < 0:
            raise ValueError(f"eps must not be negative: {eps}")
        if d < 1.0:
            raise ValueError(f"d must be at least 1: {d}")
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates the parameters from their gradients."""
        return self._step_groups(self._update, closure)

    def _update(self, group: Group) -> None:
        for p, grad in zip(*with_gradients(group), strict=True):
            self._update_one(p, -grad if group["maximize"] else grad, group)

    def _update_one(self, p: Tensor, grad: Tensor, group: Group) -> None:
        state = self.state[p] or self._new_state(p)
        state["step"] += 1
        count, lr = float(state["step"]), number(group["lr"])
        eps1, eps2 = group["eps"]
        eps1 = pellucid.finfo(p.dtype).eps if eps1 is None else eps1
        root = math.sqrt(p.numel())
        scale = max(eps2, float(p.norm(2)) / root)
        rate = min(lr, 1.0 / math.sqrt(count)) * scale
        if group["weight_decay"]:
            p.mul_(1 - lr * group["weight_decay"])
        variance = _moved(state, grad, count ** group["beta2_decay"], eps1)
        update = variance.clamp_(min=eps1 * eps1).rsqrt_().mul_(grad)
        excess = max(1.0, float(update.norm(2)) / (root * group["d"]))
        p.add_(update, alpha=-rate / excess)

    def _new_state(self, p: Tensor) -> dict[str, Any]:
        state: dict[str, Any] = self.state[p]
        state["step"] = pellucid.tensor(0.0, dtype=pellucid.float32)
        if p.dim() > 1:
            state["row_var"] = p.new_zeros((*p.shape[:-1], 1))
            state["col_var"] = p.new_zeros((*p.shape[:-2], 1, p.shape[-1]))
        else:
            state["variance"] = pellucid.zeros_like(p)
        return state


def _moved(state: dict[str, Any], grad: Tensor, weight: float, eps: float) -> Tensor:
    """The estimated variance, after updating the running means by ``weight``."""
    if grad.dim() <= 1:
        variance: Tensor = state["variance"]
        return variance.lerp_(grad * grad, weight).clone()
    square = grad * grad
    rows = state["row_var"].lerp_(square.mean(-1, keepdim=True), weight)
    columns = state["col_var"].lerp_(square.mean(-2, keepdim=True), weight)
    result: Tensor = (rows @ columns).div_(rows.mean(-2, keepdim=True).clamp_(min=eps))
    return result


class Muon(Optimizer):
    """Momentum with orthogonalised updates of matrices (Jordan et al., 2024).

    ``adjust_lr_fn`` is "original" (the default) or "match_rms_adamw", which scales
    updates like AdamW's.
    """

    _takes_complex = False

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check_options(
            lr=lr,
            foreach=None,
            fused=None,
            differentiable=False,
            momentum=momentum,
            weight_decay=weight_decay,
        )
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(
                f"adjust_lr_fn is 'original' or 'match_rms_adamw', not {adjust_lr_fn!r}"
            )
        if not 0 <= ns_steps < 100:
            raise ValueError(f"ns_steps must be in [0, 100): {ns_steps}")
        if len(ns_coefficients) != 3:
            raise ValueError(f"ns_coefficients are 3 numbers: {ns_coefficients}")
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
            "differentiable": False,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                if p.dim() != 2:
                    raise ValueError(
                        f"Muon updates matrices; a parameter has shape {(*p.shape,)}: "
                        "use AdamW for the others"
                    )

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates the parameters from their gradients."""
        return self._step_groups(self._update, closure)

    def _update(self, group: Group) -> None:
        for p, grad in zip(*with_gradients(group), strict=True):
            state = self.state[p]
            if not state:
                state["momentum_buffer"] = pellucid.zeros_like(grad)
            momentum = group["momentum"]
            buffer = state["momentum_buffer"].lerp_(grad, 1 - momentum)
            update = grad.lerp(buffer, momentum) if group["nesterov"] else buffer
            update = _orthogonal(
                update, group["ns_coefficients"], group["ns_steps"], group["eps"]
            )
            p.mul_(1 - group["lr"] * group["weight_decay"])
            rate = _adjusted(group["lr"], group["adjust_lr_fn"], p)
            p.add_(update.to(p.dtype), alpha=-rate)


def _adjusted(lr: float, name: str | None, p: Tensor) -> float:
    rows, columns = p.shape
    if name == "match_rms_adamw":
        return lr * 0.2 * math.sqrt(max(rows, columns))
    return lr * math.sqrt(max(1.0, rows / columns))


def _orthogonal(
    matrix: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float
) -> Tensor:
    """``matrix`` with singular values near 1, by Newton and Schulz's iteration in
    bfloat16.
    """
    a, b, c = coefficients
    x = matrix.bfloat16()
    tall = x.shape[0] > x.shape[1]
    x = x.T if tall else x
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = pellucid.addmm(
            x, pellucid.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a
        )
    return x.T if tall else x
