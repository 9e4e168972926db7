"""Averagers: average parameters over the ranks at intervals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import pellucid.distributed as dist
from pellucid.distributed.algorithms.model_averaging.utils import (
    average_parameters_or_parameter_groups,
)

__all__ = ["ModelAverager", "PeriodicModelAverager"]


class ModelAverager(ABC):
    """Counts steps; ``average_parameters`` averages when it is due."""

    def __init__(self, process_group: Any = None) -> None:
        self.process_group = process_group or dist.group.WORLD
        self.step = 0

    @abstractmethod
    def average_parameters(self, params: Iterable[Any]) -> None:
        """Called with parameters or parameter groups after each step."""


class PeriodicModelAverager(ModelAverager):
    """Averages every ``period`` steps, after ``warmup_steps``."""

    def __init__(
        self, period: int, warmup_steps: int = 0, process_group: Any = None
    ) -> None:
        super().__init__(process_group)
        if warmup_steps < 0 or period <= 0:
            raise ValueError(
                f"warmup_steps must be at least 0 ({warmup_steps}) and period positive "
                f"({period})"
            )
        self.period, self.warmup_steps = period, warmup_steps

    def average_parameters(self, params: Iterable[Any]) -> None:
        """Averages if it is due, and counts a step."""
        is_due = self.step >= self.warmup_steps
        if is_due and (self.step - self.warmup_steps) % self.period == 0:
            average_parameters_or_parameter_groups(params, self.process_group)
        self.step += 1
