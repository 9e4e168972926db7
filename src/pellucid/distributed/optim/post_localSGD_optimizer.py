"""``PostLocalSGDOptimizer``: local steps, and parameters averaged now and then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pellucid.optim import Optimizer

__all__ = ["PostLocalSGDOptimizer"]


class PostLocalSGDOptimizer(Optimizer):
    """``optim``, and ``averager.average_parameters`` after each of its steps."""

    def __init__(self, optim: Optimizer, averager: Any) -> None:
        self.optim, self.averager = optim, averager
        self.param_groups = optim.param_groups

    @property
    def state(self) -> Any:  # type: ignore[override]
        """That of the optimizer."""
        return self.optim.state

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """A local step, then the average where it is due."""
        loss = self.optim.step(closure) if closure else self.optim.step()
        self.averager.average_parameters(self.param_groups)
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        """That of the optimizer."""
        self.optim.zero_grad(set_to_none)

    def state_dict(self) -> dict[str, Any]:
        """That of the optimizer, with the averager's step."""
        return {**self.optim.state_dict(), "step": self.averager.step}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Of ``state_dict``."""
        self.optim.load_state_dict(state_dict)
        self.averager.step = state_dict.get("step", 0)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds parameters."""
        self.optim.add_param_group(param_group)
