"""``FusedOptimizer``: a step is one op over a group's lists of tensors.

Most optimizers of this folder derive from it; ``rmsprop.py`` is the shortest. The ops
are in ``catalogue/optimizer_steps.py``.
"""

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

State = dict[str, Any]

_COMMON = {
    "maximize": False,
    "foreach": None,
    "capturable": False,
    "differentiable": False,
}


def number(value: Any) -> float:
    """An option as a Python number: lr and betas may be tensors of one element."""
    return float(value)


class FusedOptimizer(Optimizer):
    """Groups, options and step counts; subclasses add state and call their op."""

    def __init__(
        self, params: Any, defaults: dict[str, Any], **not_negative: Any
    ) -> None:
        check_options(
            lr=defaults["lr"],
            foreach=defaults.get("foreach"),
            fused=None,
            differentiable=defaults.get("differentiable", False),
            **not_negative,
        )
        name = type(self).__name__
        if defaults.get("differentiable"):
            raise NotImplementedError(
                f"{name}(differentiable=True) is unsupported: its step is one kernel; "
                "SGD and Adam can be differentiated"
            )
        if defaults.get("capturable"):
            raise NotImplementedError(
                f"{name}(capturable=True) is for device graphs, which the CPU lacks"
            )
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in _COMMON.items():
                if name in self.defaults:
                    group.setdefault(name, value)
            for p in group["params"]:
                own = self.state.get(p, {})
                if own and not isinstance(own.get("step", own), (Tensor, dict)):
                    own["step"] = pellucid.tensor(float(own["step"]))

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates the parameters from their gradients."""
        return self._step_groups(self._update, closure)

    def _new_state(self, p: Tensor, group: Group) -> State:
        """The initial state of a parameter, without its step count."""
        raise NotImplementedError

    def _run(
        self,
        params: list[Tensor],
        grads: list[Tensor],
        states: list[State],
        steps: list[Tensor],
        group: Group,
    ) -> None:
        """One step; ``steps`` are the step counts, including this step."""
        raise NotImplementedError

    def _start(self, p: Tensor, group: Group) -> State:
        state: State = self.state[p]
        state["step"] = pellucid.tensor(0.0, dtype=pellucid.float32)
        state.update(self._new_state(p, group))
        return state

    def _update(self, group: Group) -> None:
        params, grads = with_gradients(group)
        if not params:
            return
        states = [self.state[p] or self._start(p, group) for p in params]
        steps = [state["step"] for state in states]
        for step in steps:
            step.add_(1)
        if self._has_complex:
            params, grads = as_real(params), as_real(grads)
            states = as_real_states(states)
        self._run(params, grads, states, steps, group)


def zeros_of(p: Tensor, *names: str) -> State:
    """Zeros like ``p`` under each name."""
    keep = pellucid.preserve_format
    return {name: pellucid.zeros_like(p, memory_format=keep) for name in names}


def filled_like(p: Tensor, value: float) -> Tensor:
    """A tensor like ``p`` filled with one value, in both parts of complex elements."""
    made = pellucid.empty_like(p, memory_format=pellucid.preserve_format)
    as_real([made])[0].fill_(value)
    return made


def column(states: list[State], name: str) -> list[Tensor]:
    """The states' tensors of one name."""
    return [state[name] for state in states]


def check_betas(betas: Any) -> None:
    """Checks that both betas are in [0, 1)."""
    for index, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"betas[{index}] must be in [0, 1): {beta}")
