"""``HierarchicalModelAverager``: means over small groups, and less often large ones."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pellucid.distributed as dist
from pellucid.distributed.algorithms.model_averaging.averagers import ModelAverager
from pellucid.distributed.algorithms.model_averaging.utils import (
    average_parameters_or_parameter_groups,
)

__all__ = ["HierarchicalModelAverager"]


class HierarchicalModelAverager(ModelAverager):
    """``period_group_size_dict``: sizes of groups by the period, in steps, of their
    means, both increasing; the last group is all ranks. When several are due, the
    largest group's mean is made. The first ``warmup_steps`` have none.

    Example: ``HierarchicalModelAverager({4: 2, 16: 4}, warmup_steps=100)``.
    """

    def __init__(
        self,
        period_group_size_dict: dict[int, int] | None = None,
        warmup_steps: int = 0,
        process_group: Any = None,
    ) -> None:
        super().__init__(process_group)
        whole = dist.get_world_size(self.process_group)
        if not period_group_size_dict:
            raise ValueError("Arg ``period_group_size_dict`` must not be empty.")
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        pairs = list(period_group_size_dict.items())
        for (period, size), (longer, larger) in pairwise(pairs):
            if period >= longer or size >= larger:
                raise ValueError(f"periods and sizes must increase: {pairs}")
        if min(pairs[0]) <= 0 or pairs[-1][1] != whole:
            raise ValueError(
                f"periods and sizes must be positive, and the last size is that of the "
                f"group, {whole}: {pairs}"
            )
        self.warmup_steps = warmup_steps
        self.period_process_group_dict: dict[int, Any] = {}
        for period, size in pairs:
            group = self.process_group
            if size != whole:
                group, _ = dist.new_subgroups(size, self.process_group)
            self.period_process_group_dict[period] = group

    def _find_process_group(self) -> Any:
        """The largest group whose mean is due; None if none is."""
        periods = reversed(self.period_process_group_dict.items())
        steps = self.step - self.warmup_steps
        return next((group for period, group in periods if steps % period == 0), None)

    def average_parameters(self, params: Iterable[Any]) -> None:
        """Averages if it is due, and counts a step."""
        if self.step >= self.warmup_steps:
            group = self._find_process_group()
            if group is not None:
                average_parameters_or_parameter_groups(params, group)
        self.step += 1
