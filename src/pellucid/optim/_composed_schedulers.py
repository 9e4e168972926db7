"""Composite schedulers, and schedulers by a metric or a fixed number of steps."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from pellucid.optim._scheduler import (
    LRScheduler,
    per_group,
    rates,
    require_optimizer,
    set_rate,
)
from pellucid.optim.optimizer import Optimizer


class _ComposedLR(LRScheduler):
    """A scheduler over others of the same optimizer."""

    def _adopt(self, schedulers: Sequence[Any], optimizer: Any) -> None:
        name = type(self).__name__
        if not schedulers:
            raise ValueError(f"{name} takes at least one scheduler")
        self.optimizer = optimizer or schedulers[0].optimizer
        for index, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"{name}: number {index} is not a scheduler")
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"{name}: number {index} is a ReduceLROnPlateau, whose step takes "
                    "a metric; step it by itself"
                )
            if scheduler.optimizer is not self.optimizer:
                raise ValueError(f"{name}: number {index} has another optimizer")
        self._schedulers = schedulers

    def state_dict(self) -> dict[str, Any]:
        """The state of this scheduler and of those in it."""
        state = super().state_dict()
        state["_schedulers"] = [s.state_dict() for s in self._schedulers]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restores the state from ``state_dict``."""
        given = {k: v for k, v in state_dict.items() if k != "_schedulers"}
        self.__dict__.update(given)
        saved = state_dict["_schedulers"]
        for scheduler, state in zip(self._schedulers, saved, strict=True):
            scheduler.load_state_dict(state)


class SequentialLR(_ComposedLR):
    """Runs schedulers in sequence, switching at ``milestones``."""

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: list[LRScheduler],
        milestones: list[int],
        last_epoch: int = -1,
    ) -> None:
        self._adopt(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                f"{len(schedulers)} schedulers need {len(schedulers) - 1} milestones, "
                f"not {len(milestones)}"
            )
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        # Each constructor set its scheduler's first rate; only the first one may.
        for group in self.optimizer.param_groups:
            set_rate(group, group["initial_lr"])
        self._undo(self)
        first = self._schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def _undo(self, scheduler: Any) -> None:
        inner = getattr(scheduler, "_schedulers", None)
        if inner is None:
            scheduler.last_epoch -= 1
            return
        for each in inner:
            self._undo(each)

    def step(self, epoch: int | None = None) -> None:
        """Advances by one step."""
        self.last_epoch += 1
        index = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[index]
        if index > 0 and self._milestones[index - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_ComposedLR):
    """Runs all schedulers at every step."""

    def __init__(
        self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None
    ) -> None:
        self._adopt(schedulers, optimizer)
        self._last_lr = rates(self.optimizer)

    def step(self, epoch: int | None = None) -> None:
        """Advances all by one step."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = rates(self.optimizer)


class ReduceLROnPlateau(LRScheduler):
    """Multiplies by ``factor`` when a metric has not improved for ``patience`` steps.

    An improvement must exceed ``threshold``, relative to the best value or absolute.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: list[float] | float = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError(f"factor must be below 1, not {factor}")
        if mode not in ("min", "max"):
            raise ValueError(f"mode is 'min' or 'max', not {mode!r}")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(
                f"threshold_mode is 'rel' or 'abs', not {threshold_mode!r}"
            )
        self.factor = factor
        self.optimizer = require_optimizer(optimizer)
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.min_lrs = per_group("min_lr", optimizer, min_lr)
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self._last_lr = rates(optimizer)
        self._reset()

    def _reset(self) -> None:
        """Resets the best value and the counters."""
        self.mode_worse = math.inf if self.mode == "min" else -math.inf
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    @property
    def in_cooldown(self) -> bool:
        """Whether a reduction is so recent that bad epochs are not counted."""
        return self.cooldown_counter > 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Records the metric of another epoch."""
        current = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(current, self.best):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = rates(self.optimizer)

    def _is_better(self, value: float, best: float) -> bool:
        sign = -1.0 if self.mode == "min" else 1.0
        if self.threshold_mode == "abs":
            bound = best + sign * self.threshold
        else:
            bound = best * (1.0 + sign * self.threshold)
        return value < bound if self.mode == "min" else value > bound

    def _reduce(self) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"the optimizer has {len(groups)} parameter groups now and "
                    f"min_lrs {len(self.min_lrs)} values; extend min_lrs"
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs, strict=True):
            old = float(group["lr"])
            new = max(old * self.factor, least)
            if old - new > self.eps:
                set_rate(group, new)


class OneCycleLR(LRScheduler):
    """Raises the rate to ``max_lr``, then lowers it; momentum inversely (Smith and
    Topin, 2019).

    Give ``total_steps``, or ``epochs`` and ``steps_per_epoch``. The first rate is
    ``max_lr / div_factor``, the last is the first over ``final_div_factor``.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        self.optimizer = require_optimizer(optimizer)
        self.total_steps = _step_count(total_steps, epochs, steps_per_epoch)
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"pct_start is a float from 0 to 1, not {pct_start!r}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy is 'cos' or 'linear', not {anneal_strategy!r}"
            )
        self._anneal_func_type = anneal_strategy
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        max_lrs = per_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for group, highest in zip(optimizer.param_groups, max_lrs, strict=True):
                group["initial_lr"] = highest / div_factor
                group["max_lr"] = highest
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._start_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def _start_momentum(self, base: Any, highest: Any, last_epoch: int) -> None:
        defaults = self.optimizer.defaults
        if "momentum" not in defaults and "betas" not in defaults:
            raise ValueError(
                f"{type(self.optimizer).__name__} has neither momentum nor betas; pass "
                "cycle_momentum=False"
            )
        self.use_beta1 = "betas" in defaults
        bases = per_group("base_momentum", self.optimizer, base)
        tops = per_group("max_momentum", self.optimizer, highest)
        if last_epoch != -1:
            return
        groups = self.optimizer.param_groups
        for group, low, high in zip(groups, bases, tops, strict=True):
            group["base_momentum"], group["max_momentum"] = low, high
            self._set_momentum(group, high)

    def _set_momentum(self, group: dict[str, Any], value: float) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value

    def _between(self, start: Any, end: Any, fraction: float) -> Any:
        if self._anneal_func_type == "linear":
            return (end - start) * fraction + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * fraction) + 1)

    def get_lr(self) -> list[Any]:
        self._warn_if_called_alone()
        if self.last_epoch > self.total_steps:
            raise ValueError(
                f"step {self.last_epoch} of a schedule of {self.total_steps} steps"
            )
        start = 0.0
        for phase in self._schedule_phases:
            end = phase["end_step"]
            if self.last_epoch <= end or phase is self._schedule_phases[-1]:
                break
            start = end
        fraction = (self.last_epoch - start) / (end - start)
        result = []
        for group in self.optimizer.param_groups:
            first, last = group[phase["start_lr"]], group[phase["end_lr"]]
            result.append(self._between(first, last, fraction))
            if self.cycle_momentum:
                first = group[phase["start_momentum"]]
                last = group[phase["end_momentum"]]
                self._set_momentum(group, self._between(first, last, fraction))
        return result


def _phases(steps: int, pct_start: float, three: bool) -> list[dict[str, Any]]:
    """The last step of each phase, and the group's values it interpolates between."""
    up = _phase(float(pct_start * steps) - 1, ("initial", "max"), ("max", "base"))
    if not three:
        return [up, _phase(steps - 1, ("max", "min"), ("base", "max"))]
    back = float(2 * pct_start * steps) - 2
    return [
        up,
        _phase(back, ("max", "initial"), ("base", "max")),
        _phase(steps - 1, ("initial", "min"), ("max", "max")),
    ]


def _phase(
    end: float, rates: tuple[str, str], momentums: tuple[str, str]
) -> dict[str, Any]:
    """The phases in the form that state dicts have."""
    return {
        "end_step": end,
        "start_lr": f"{rates[0]}_lr",
        "end_lr": f"{rates[1]}_lr",
        "start_momentum": f"{momentums[0]}_momentum",
        "end_momentum": f"{momentums[1]}_momentum",
    }


def _step_count(
    total_steps: int | None, epochs: int | None, steps_per_epoch: int | None
) -> int:
    given = {"total_steps": total_steps}
    if total_steps is None:
        given = {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
        if epochs is None or steps_per_epoch is None:
            raise ValueError("give total_steps, or both epochs and steps_per_epoch")
    result = 1
    for name, value in given.items():
        if not isinstance(value, int) or value <= 0:
            raise ValueError(f"{name} must be a positive int, not {value!r}")
        result *= value
    return result
