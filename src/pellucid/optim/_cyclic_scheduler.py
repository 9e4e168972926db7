"""``CyclicLR``: rates that cycle between two bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import FunctionType
from typing import Any

from pellucid.optim._scheduler import (
    LRScheduler,
    per_group,
    require_optimizer,
    set_rate,
)
from pellucid.optim.optimizer import Optimizer

_MODES = ("triangular", "triangular2", "exp_range")


class CyclicLR(LRScheduler):
    """Cycles the rate between ``base_lr`` and ``max_lr`` (Smith, 2017).

    ``mode`` scales the amplitude: ``"triangular"`` keeps it, ``"triangular2"`` halves
    it every cycle, ``"exp_range"`` multiplies it by ``gamma`` every step. A custom
    ``scale_fn`` takes the number of the cycle or, with ``scale_mode="iterations"``, of
    the step. Momentum cycles inversely.

    Raises ValueError for an unknown ``mode``, or if the optimizer has no momentum to
    cycle.

    Example::

        scheduler = CyclicLR(optimizer, base_lr=0.01, max_lr=0.1, step_size_up=100)
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        self.optimizer = require_optimizer(optimizer)
        base_lrs = per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, base_lrs, strict=True):
                set_rate(group, rate)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        down = up if step_size_down is None else float(step_size_down)
        self.total_size = up + down
        self.step_ratio = up / self.total_size
        if scale_fn is None and mode not in _MODES:
            raise ValueError(f"mode is one of {', '.join(_MODES)}, not {mode!r}")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._start_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def _start_momentum(self, base: Any, highest: Any, last_epoch: int) -> None:
        defaults = self.optimizer.defaults
        if "momentum" not in defaults and "betas" not in defaults:
            raise ValueError(
                f"{type(self.optimizer).__name__} has neither momentum nor betas; pass "
                "cycle_momentum=False"
            )
        self.use_beta1 = "betas" in defaults
        self.base_momentums = per_group("base_momentum", self.optimizer, base)
        self.max_momentums = per_group("max_momentum", self.optimizer, highest)
        if last_epoch != -1:
            return
        groups = self.optimizer.param_groups
        borders = zip(self.base_momentums, self.max_momentums, strict=True)
        for group, (low, high) in zip(groups, borders, strict=True):
            group["base_momentum"], group["max_momentum"] = low, high
            self._set_momentum(group, high)

    def _set_momentum(self, group: dict[str, Any], value: float) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value

    def scale_fn(self, x: float) -> float:
        """The amplitude, as a fraction of the first cycle's."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular2":
            return float(1 / 2.0 ** (x - 1))
        return float(self.gamma**x) if self.mode == "exp_range" else 1.0

    def get_lr(self) -> list[Any]:
        self._warn_if_called_alone()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        place = 1.0 + self.last_epoch / self.total_size - cycle
        if place <= self.step_ratio:
            height = place / self.step_ratio
        else:
            height = (place - 1) / (self.step_ratio - 1)
        height *= self.scale_fn(
            cycle if self.scale_mode == "cycle" else self.last_epoch
        )
        if self.cycle_momentum:
            borders = zip(self.base_momentums, self.max_momentums, strict=True)
            groups = self.optimizer.param_groups
            for group, (low, high) in zip(groups, borders, strict=True):
                self._set_momentum(group, high - (high - low) * height)
        borders = zip(self.base_lrs, self.max_lrs, strict=True)
        return [low + (high - low) * height for low, high in borders]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer; a callable object's attributes for
        ``scale_fn``.
        """
        state = super().state_dict()
        custom = state.pop("_scale_fn_custom")
        is_object = custom is not None and not isinstance(custom, FunctionType)
        state["_scale_fn_custom"] = dict(custom.__dict__) if is_object else None
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restores the state from ``state_dict``."""
        given = dict(state_dict)
        custom = given.pop("_scale_fn_custom")
        super().load_state_dict(given)
        if custom is not None:
            assert self._scale_fn_custom is not None
            self._scale_fn_custom.__dict__.update(custom)
