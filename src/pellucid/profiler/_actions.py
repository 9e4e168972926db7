"""A profiler's activities, and its action in each step."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum


class DeviceType(Enum):
    """The device of an event."""

    CPU = 0
    CUDA = 1


class ProfilerActivity(Enum):
    """The kinds of activities."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(Enum):
    """A profiler's action in one step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def supported_activities() -> set[ProfilerActivity]:
    """The activities of the CPU."""
    return {ProfilerActivity.CPU}


def kineto_available() -> bool:
    """True: profiles have steps, schedules and traces, as PyTorch's by Kineto do."""
    return True


def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Callable[[int], ProfilerAction]:
    """What to do at each step: wait, warm up, record, and so on, ``repeat`` times (0:
    for ever), after ``skip_first`` steps.
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active < 1:
        raise ValueError(
            "schedule: the counts of steps are 0 or more, and `active` 1 or more; got "
            f"wait={wait}, warmup={warmup}, active={active}, repeat={repeat}, "
            f"skip_first={skip_first}"
        )

    def action(step: int) -> ProfilerAction:
        step -= skip_first
        if skip_first_wait:
            step += wait
        cycle, place = divmod(step, wait + warmup + active)
        if step < 0 or (repeat and cycle >= repeat) or place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        is_last = place == wait + warmup + active - 1
        return ProfilerAction.RECORD_AND_SAVE if is_last else ProfilerAction.RECORD

    return action
