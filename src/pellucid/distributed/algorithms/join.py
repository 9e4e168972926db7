"""``Join``: training on uneven inputs; ranks without inputs shadow the others."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Any

import pellucid as torch
import pellucid.distributed as dist

__all__ = ["Join", "JoinHook", "Joinable"]


class JoinHook:
    """What a rank does after its last input."""

    def main_hook(self) -> None:
        """Called once per iteration of the ranks that still have inputs."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Called when all ranks are done."""


class _JoinConfig:
    def __init__(self, enable: bool, throws: bool, is_first: bool) -> None:
        self.enable, self.throw_on_early_termination = enable, throws
        self.is_first_joinable, self.is_joined = is_first, False


class Joinable(ABC):
    """An object whose collectives can be shadowed."""

    @abstractmethod
    def __init__(self) -> None:
        self._join_config = _JoinConfig(False, False, False)

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Its JoinHook."""

    @property
    @abstractmethod
    def join_device(self) -> Any:
        """The device of the context's collectives."""

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """The group of its collectives."""


class Join:
    """``with Join([model, optimizer]): for batch in uneven: ...``"""

    def __init__(
        self,
        joinables: list[Joinable],
        enable: bool = True,
        throw_on_early_termination: bool = False,
        **kwargs: Any,
    ) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        self._joinables, self._enable = joinables, enable
        self._throws = throw_on_early_termination
        self._hooks = [joinable.join_hook(**kwargs) for joinable in joinables]
        self._group = joinables[0].join_process_group

    def __enter__(self) -> Join:
        for index, joinable in enumerate(self._joinables):
            joinable._join_config = _JoinConfig(self._enable, self._throws, index == 0)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if self._enable and kind is None:
                self._shadow()
        finally:
            for joinable in self._joinables:
                joinable._join_config = _JoinConfig(False, False, False)

    def _shadow(self) -> None:
        is_last, iterations = True, 0
        for joinable in self._joinables:
            joinable._join_config.is_joined = True
        while self._count_active(0):
            if self._throws:
                raise _exhausted(self._group, True)
            is_last = False
            for hook in self._hooks:
                hook.main_hook()
            iterations += 1
            if iterations == 1000:
                warnings.warn(
                    "Detected uneven input skew of greater than 1000 iterations",
                    stacklevel=3,
                )
        for hook in self._hooks:
            hook.post_hook(is_last)

    def _count_active(self, counts: int) -> int:
        return _count(counts, self._group)

    @staticmethod
    def notify_join_context(joinable: Joinable) -> None:
        """Called by a joinable before its collectives: notifies ranks that are done."""
        config = joinable._join_config
        if not config.is_first_joinable or not config.enable:
            return
        group = joinable.join_process_group
        active = _count(1, group)
        if config.throw_on_early_termination and active < group.size():
            raise _exhausted(group, False)


def _count(counts: int, group: Any) -> int:
    number = torch.tensor([counts], device=group.object_device)
    dist.all_reduce(number, group=group)
    return int(number)


def _exhausted(group: Any, is_done: bool) -> RuntimeError:
    """The error of every rank, which names those that are done. All ranks call it."""
    own = torch.tensor([is_done], device=group.object_device)
    flags = own.new_empty(group.size())
    dist.all_gather_into_tensor(flags, own, group)
    ranks = dist.get_process_group_ranks(group)
    done = [str(r) for r, flag in zip(ranks, flags.tolist(), strict=True) if flag]
    names = f"Rank{'s' * (len(done) > 1)} {', '.join(done)}"
    return RuntimeError(
        f"{names} exhausted all inputs, and throw_on_early_termination is set"
    )
