"""``PostLocalSGDOptimizer``: local steps with periodic averaging of parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pellucid.optim import Optimizer

__all__ = ["PostLocalSGDOptimizer"]


class PostLocalSGDOptimizer(Optimizer):
    """Wraps ``optim``; calls ``averager.average_parameters`` after each step."""

    def __init__(self, optim: Optimizer, averager: Any) -> None:
        self.optim, self.averager = optim, averager
        self.param_groups = optim.param_groups

    @property
    def state(self) -> Any:  # type: ignore[override]
        """Delegates to the optimizer."""
        return self.optim.state

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """A local step, then the average if it is due."""
        loss = self.optim.step(closure) if closure else self.optim.step()
        self.averager.average_parameters(self.param_groups)
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Delegates to the optimizer."""
        self.optim.zero_grad(set_to_none)

    def state_dict(self) -> dict[str, Any]:
        """The optimizer's state, with the averager's step."""
        return {**self.optim.state_dict(), "step": self.averager.step}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restores the state from ``state_dict``."""
        self.optim.load_state_dict(state_dict)
        self.averager.step = state_dict.get("step", 0)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds parameters."""
        self.optim.add_param_group(param_group)
