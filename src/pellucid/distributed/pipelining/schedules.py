"""In which order a stage runs the microbatches of a step, forward and backward."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import pellucid as torch
from pellucid.distributed.pipelining.stage import PipelineStage

__all__ = [
    "Schedule1F1B",
    "ScheduleGPipe",
    "ScheduleInterleaved1F1B",
    "ScheduleLoopedBFS",
]

_Action = tuple[str, int, int]  # "F" or "B", the stage's index, the microbatch


class _Schedule(ABC):
    def __init__(
        self,
        stages: list[PipelineStage],
        n_microbatches: int,
        loss_fn: Callable[..., Any] | None = None,
        scale_grads: bool = True,
    ) -> None:
        self._stages = {stage.stage_index: stage for stage in stages}
        self._count, self._loss_fn = n_microbatches, loss_fn
        self._scale_grads = scale_grads
        self._plan = list(
            self._actions(list(self._stages), stages[0].num_stages, n_microbatches)
        )

    @staticmethod
    @abstractmethod
    def _actions(own: list[int], num_stages: int, count: int) -> Iterator[_Action]:
        """What a rank with these stages does for so many microbatches, in order."""

    def step(
        self, *args: Any, target: Any = None, losses: Any = None, **kwargs: Any
    ) -> Any:
        """Runs a batch: the first stage gives its inputs, the last one its target.

        The last stage gets the outputs, and each microbatch's loss in ``losses``.
        Gradients are the mean over microbatches.
        """
        stages, trains = list(self._stages.values()), self._loss_fn is not None
        gives_output = any(stage.is_last for stage in stages)
        parts = self._split(args, kwargs)
        targets = None if target is None else self._chunks(target)
        if gives_output and trains and targets is None:
            raise ValueError("the last stage needs target= for its loss")
        outputs: dict[int, Any] = {}
        found: dict[int, Any] = {}
        for stage in stages:
            stage.begin()
        for kind, index, number in self._plan:
            stage = self._stages[index]
            if kind == "F":
                output = stage.forward(number, *parts[number])
                if stage.is_last:
                    outputs[number] = output
                    if self._loss_fn is not None and targets is not None:
                        found[number] = self._loss_fn(output, targets[number])
            elif trains:
                stage.backward(number, found.get(number) if stage.is_last else None)
        for stage in stages:
            stage.finish(self._count if trains and self._scale_grads else 1)
        if losses is not None:
            losses[:] = [found[number].detach() for number in sorted(found)]
        if not gives_output:
            return None
        return torch.cat([outputs[number] for number in range(self._count)])

    def eval(
        self, *args: Any, target: Any = None, losses: Any = None, **kwargs: Any
    ) -> Any:
        """``step`` without backward."""
        loss_fn, self._loss_fn = self._loss_fn, None
        try:
            with torch.no_grad():
                return self.step(*args, target=target, losses=losses, **kwargs)
        finally:
            self._loss_fn = loss_fn

    def _chunks(self, value: Any) -> list[Any]:
        if not isinstance(value, torch.Tensor):
            return [value] * self._count
        if not len(value) or len(value) % self._count:
            raise ValueError(
                f"a batch of {len(value)} does not make {self._count} equal "
                "microbatches, whose shapes stages tell each other once a step"
            )
        return list(value.tensor_split(self._count))

    def _split(self, args: Any, kwargs: Any) -> list[tuple[Any, Any]]:
        listed = [self._chunks(value) for value in args]
        named = {name: self._chunks(value) for name, value in kwargs.items()}
        return [
            (
                tuple(chunks[number] for chunks in listed),
                {name: chunks[number] for name, chunks in named.items()},
            )
            for number in range(self._count)
        ]


class _SingleSchedule(_Schedule):
    def __init__(
        self,
        stage: PipelineStage,
        n_microbatches: int,
        loss_fn: Callable[..., Any] | None = None,
        scale_grads: bool = True,
    ) -> None:
        if stage.num_stages != stage._group_size:
            raise ValueError(
                f"{type(self).__name__} has one stage on each of the group's "
                f"{stage._group_size} processes, not {stage.num_stages} in all; "
                "ScheduleInterleaved1F1B takes several"
            )
        super().__init__([stage], n_microbatches, loss_fn, scale_grads)


class ScheduleGPipe(_SingleSchedule):
    """All microbatches forward, then all backward."""

    @staticmethod
    def _actions(own: list[int], num_stages: int, count: int) -> Iterator[_Action]:
        for kind in "FB":
            yield from ((kind, own[0], number) for number in range(count))


class Schedule1F1B(_SingleSchedule):
    """One forward, one backward in turn, once the pipeline is full: a stage holds at
    most as many microbatches as there are stages after it.
    """

    @staticmethod
    def _actions(own: list[int], num_stages: int, count: int) -> Iterator[_Action]:
        (stage,) = own
        ahead = min(count, num_stages - stage)
        yield from (("F", stage, number) for number in range(ahead))
        for number in range(count):
            yield "B", stage, number
            if number + ahead < count:
                yield "F", stage, number + ahead


class ScheduleLoopedBFS(_Schedule):
    """Several stages a rank: all microbatches forward through one stage after the
    other, then back (Lamy-Poirier, "Breadth-first pipeline parallelism", 2022).
    """

    @staticmethod
    def _actions(own: list[int], num_stages: int, count: int) -> Iterator[_Action]:
        for stage in own:
            yield from (("F", stage, number) for number in range(count))
        for stage in reversed(own):
            yield from (("B", stage, number) for number in reversed(range(count)))


class ScheduleInterleaved1F1B(_Schedule):
    """Several stages a rank; one forward, one backward in turn, with rounds of as many
    microbatches as ranks for each stage (Narayanan et al., "Efficient large-scale
    language model training on GPU clusters using Megatron-LM", 2021, section 2.2).
    """

    @staticmethod
    def _actions(own: list[int], num_stages: int, count: int) -> Iterator[_Action]:
        size, rank = num_stages // len(own), own[0]
        num_rounds = max(1, count // size)
        if count % num_rounds:
            raise ValueError(
                f"{count} microbatches cannot be run in {num_rounds} equal rounds on "
                f"{size} ranks: give a multiple of {size}"
            )
        length, whole = count // num_rounds, count * len(own)

        def ordered(stages: list[int], kind: str) -> Iterator[_Action]:
            for first in range(0, count, length):
                for stage in stages:
                    for number in range(first, first + length):
                        yield kind, stage, number

        forwards, backwards = ordered(own, "F"), ordered(own[::-1], "B")
        ahead = min(whole, (len(own) - 1) * length + 2 * (size - 1 - rank))
        yield from islice(forwards, ahead)
        for forward in forwards:
            yield forward
            yield next(backwards)
        yield from backwards
