"""Schedules: the order of forward and backward microbatches on each rank."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, ClassVar

import pellucid as torch
from pellucid.distributed.pipelining.stage import PipelineStage

__all__ = [
    "PipelineScheduleMulti",
    "PipelineScheduleSingle",
    "Schedule1F1B",
    "ScheduleDualPipeV",
    "ScheduleGPipe",
    "ScheduleInterleaved1F1B",
    "ScheduleInterleavedZeroBubble",
    "ScheduleLoopedBFS",
    "ScheduleZBVZeroBubble",
    "get_schedule_class",
]

# An action ("F": forward, "B": backward; "I" and "W": its two halves, the gradients of
# the inputs and of the weights), the stage's index, the microbatch.
_Action = tuple[str, int, int]


class _PipelineSchedule(ABC):
    def __init__(
        self,
        stages: list[PipelineStage],
        n_microbatches: int,
        loss_fn: Callable[..., Any] | None = None,
        scale_grads: bool = True,
    ) -> None:
        self._stages = {stage.stage_index: stage for stage in stages}
        self._join(stages)
        self._count, self._loss_fn = n_microbatches, loss_fn
        self._scale_grads = scale_grads
        self._plan = list(
            self._actions(list(self._stages), stages[0].num_stages, n_microbatches)
        )

    def _join(self, stages: list[PipelineStage]) -> None:
        """Checks this rank's stages, and informs them of the placement of all
        stages.
        """
        first = stages[0]
        size, num_stages = first.group_size, first.num_stages
        own = list(self._stages)
        places = [self._own_stages(r, size, num_stages) for r in range(size)]
        if num_stages % size or own != places[first.group_rank]:
            raise ValueError(
                f"{type(self).__name__}: rank {first.group_rank} of {size} has the "
                f"stages {own} of {num_stages}: give each rank r {self._placement}"
            )
        if size == 1 < num_stages:
            raise ValueError(f"{num_stages} stages need more than one process")
        ranks = {stage: rank for rank in range(size) for stage in places[rank]}
        for stage in stages:
            stage.join(ranks, stages)

    _placement: ClassVar[str] = "the stages r, r + size, ..., as many as the others"

    @staticmethod
    def _own_stages(rank: int, size: int, num_stages: int) -> list[int]:
        """The stages of a rank."""
        return list(range(rank, num_stages, size))

    @staticmethod
    @abstractmethod
    def _actions(own: list[int], num_stages: int, count: int) -> Iterator[_Action]:
        """The actions of a rank with these stages for so many microbatches, in
        order.
        """

    def step(
        self, *args: Any, target: Any = None, losses: Any = None, **kwargs: Any
    ) -> Any:
        """Runs a batch: pass its inputs on the first stage, its target on the last.

        Returns the outputs on the last stage, and each microbatch's loss in ``losses``.
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
            elif kind == "W" and trains:
                stage.backward_weight(number)
            elif trains:
                run = stage.backward if kind == "B" else stage.backward_input
                run(number, found.get(number) if stage.is_last else None)
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
                "microbatches, whose shapes stages exchange once per step"
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


class PipelineScheduleSingle(_PipelineSchedule):
    """Schedules with one stage on each rank."""

    def __init__(
        self,
        stage: PipelineStage,
        n_microbatches: int,
        loss_fn: Callable[..., Any] | None = None,
        scale_grads: bool = True,
    ) -> None:
        if stage.num_stages != stage.group_size:
            raise ValueError(
                f"{type(self).__name__} has one stage on each of the group's "
                f"{stage.group_size} processes, not {stage.num_stages} in all; "
                "ScheduleInterleaved1F1B takes several"
            )
        super().__init__([stage], n_microbatches, loss_fn, scale_grads)


class ScheduleGPipe(PipelineScheduleSingle):
    """All microbatches forward, then all backward."""

    @staticmethod
    def _actions(own: list[int], num_stages: int, count: int) -> Iterator[_Action]:
        for kind in "FB":
            yield from ((kind, own[0], number) for number in range(count))


class Schedule1F1B(PipelineScheduleSingle):
    """Alternates one forward and one backward once the pipeline is full: a stage holds
    at most as many microbatches as there are stages after it.
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


class PipelineScheduleMulti(_PipelineSchedule):
    """Schedules with several stages on each rank."""


class ScheduleLoopedBFS(PipelineScheduleMulti):
    """Several stages per rank: all microbatches forward through the stages in order,
    then backward (Lamy-Poirier, "Breadth-first pipeline parallelism", 2022).
    """

    @staticmethod
    def _actions(own: list[int], num_stages: int, count: int) -> Iterator[_Action]:
        for stage in own:
            yield from (("F", stage, number) for number in range(count))
        for stage in reversed(own):
            yield from (("B", stage, number) for number in reversed(range(count)))


class ScheduleInterleaved1F1B(PipelineScheduleMulti):
    """Several stages per rank; alternates one forward and one backward, in rounds of as
    many microbatches as ranks for each stage (Narayanan et al., "Efficient large-scale
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


def _zero_bubble(
    places: list[list[int]], count: int, limit: int
) -> list[list[_Action]]:
    """The actions of each rank, where rank r has the stages ``places[r]`` and holds at
    most ``limit`` runs of a stage whose weights' gradients are pending.

    All ranks are simulated in turns of one action each, assumed to take equal time. A
    rank prefers actions that others wait for: the gradients of an input, else a forward
    of its last stage that can run; if it would wait, gradients of weights.
    """
    last = max(map(max, places))
    done: dict[_Action, int] = {}  # -> the turn in which it ends
    plans: list[list[_Action]] = [[] for _ in places]
    following = {(kind, s): 0 for kind in "FIW" for own in places for s in own}

    def next_of(kind: str, stage: int, turn: int) -> _Action | None:
        """The stage's next action of the kind, if its inputs are available."""
        number = following[kind, stage]
        needs = {
            "F": [("F", stage - 1, number)] if stage else [],
            "I": [("F", stage, number)]
            + ([("I", stage + 1, number)] if stage < last else []),
            "W": [("I", stage, number)],
        }[kind]
        ready = all(done.get(need, turn) < turn for need in needs)
        return (kind, stage, number) if number < count and ready else None

    def choose(rank: int, turn: int, *, beyond: bool = False) -> _Action | None:
        own = sorted(places[rank], reverse=True)
        held = sum(following["F", s] - following["W", s] for s in own)
        kinds = "IFW" if beyond or held < limit else "IW"
        found = (next_of(kind, stage, turn) for kind in kinds for stage in own)
        return next((action for action in found if action), None)

    turn, whole = 0, count * len(following)
    while len(done) < whole:
        chosen = [choose(rank, turn) for rank in range(len(places))]
        if not any(chosen):  # all wait for a rank that its limit blocks
            chosen = [choose(rank, turn, beyond=True) for rank in range(len(places))]
            first = next(r for r, action in enumerate(chosen) if action)
            chosen = [a if r == first else None for r, a in enumerate(chosen)]
        for plan, action in zip(plans, chosen, strict=True):
            if action is not None:
                plan.append(action)
                done[action] = turn
                following[action[:2]] += 1
        turn += 1
    return plans


class ScheduleInterleavedZeroBubble(PipelineScheduleMulti):
    """Several stages per rank; computes gradients of weights instead of waiting (Qi et
    al., "Zero bubble pipeline parallelism", 2023). If the parts take equal time, it
    waits a third as long as ``ScheduleInterleaved1F1B``, and holds at most what the
    first rank holds there.
    """

    @staticmethod
    def _actions(own: list[int], num_stages: int, count: int) -> Iterator[_Action]:
        size, parts = num_stages // len(own), len(own)
        places = [list(range(rank, num_stages, size)) for rank in range(size)]
        limit = (parts - 1) * size + 2 * (size - 1) + 1
        yield from _zero_bubble(places, count, limit)[own[0]]


class ScheduleZBVZeroBubble(PipelineScheduleMulti):
    """Two stages per rank: r and 2 * size - 1 - r, so that backward begins on the rank
    where forward ended, and all ranks hold equally many microbatches (Qi et al.,
    "Pipeline parallelism with controllable memory", 2024).
    """

    _placement = "the stages r and 2 * size - 1 - r"

    @staticmethod
    def _own_stages(rank: int, size: int, num_stages: int) -> list[int]:
        return [rank, 2 * size - 1 - rank] if num_stages == 2 * size else []

    @staticmethod
    def _actions(own: list[int], num_stages: int, count: int) -> Iterator[_Action]:
        size = num_stages // 2
        places = [[rank, num_stages - 1 - rank] for rank in range(size)]
        yield from _zero_bubble(places, count, 2 * size)[own[0]]


class ScheduleDualPipeV(ScheduleZBVZeroBubble):
    """Two stages per rank, placed as in ``ScheduleZBVZeroBubble``; in the steady state
    one microbatch's forward alternates with another's backward (the V-shaped half of
    DeepSeek-AI, "DeepSeek-V3 technical report", 2024, section 3.2.1).
    """

    def __init__(
        self,
        stages: list[PipelineStage],
        n_microbatches: int,
        loss_fn: Callable[..., Any] | None = None,
        scale_grads: bool = True,
    ) -> None:
        num_stages = stages[0].num_stages
        if n_microbatches < num_stages:
            raise ValueError(
                "DualPipeV requires at least as many microbatches as stages, but got "
                f"{n_microbatches} microbatches and {num_stages} stages."
            )
        super().__init__(stages, n_microbatches, loss_fn, scale_grads)

    @staticmethod
    def _actions(own: list[int], num_stages: int, count: int) -> Iterator[_Action]:
        return iter(_DualPipeV(own, num_stages, count).plan())


class _DualPipeV:
    """The actions of a rank, phase by phase. ``after``: the number of ranks after
    it.
    """

    def __init__(self, own: list[int], num_stages: int, count: int) -> None:
        self._stages, self._count = own, count
        self._size, self._rank = num_stages // 2, own[0]
        self._after = self._size - 1 - self._rank
        self._next = dict.fromkeys([(k, s) for k in "FB" for s in own], 0)
        self._weights: list[_Action] = []  # pending gradients of weights
        self._made: list[_Action] = []

    def plan(self) -> list[_Action]:
        """All actions: warm-up, steady state and drain."""
        after, before = self._after, self._rank + 1
        for _ in range(2 * after):
            self._forward(0)
        for _ in range(before):
            self._forward(0)
            self._forward(1)
        for _ in range(after):
            self._backward(1, splits=True)
            self._weight()
            self._forward(1)
        for _ in range(self._count - 2 * self._size + before):
            self._forward(0)
            self._backward(1)
            self._forward(1)
            self._backward(0)
        for _ in range(after):
            self._backward(1)
            self._forward(1)
            self._backward(0)
        half = before // 2
        for turn in range(before):
            self._backward(1, splits=turn > half or (turn == half and self._rank % 2))
            self._backward(0, splits=turn >= half)
        for _ in range(after):
            self._weight()
            self._backward(0, splits=True)
        while self._weights:
            self._weight()
        return self._made

    def _number(self, kind: str, stage: int) -> int:
        self._next[kind, stage] += 1
        return self._next[kind, stage] - 1

    def _forward(self, part: int) -> None:
        stage = self._stages[part]
        self._made.append(("F", stage, self._number("F", stage)))

    def _backward(self, part: int, splits: bool | int = False) -> None:
        stage = self._stages[part]
        number = self._number("B", stage)
        self._made.append(("I" if splits else "B", stage, number))
        if splits:
            self._weights.append(("W", stage, number))

    def _weight(self) -> None:
        """The oldest pending gradients of weights, if there are any."""
        if self._weights:
            self._made.append(self._weights.pop(0))


_SCHEDULES = (
    *(Schedule1F1B, ScheduleDualPipeV, ScheduleGPipe, ScheduleInterleaved1F1B),
    *(ScheduleInterleavedZeroBubble, ScheduleLoopedBFS, ScheduleZBVZeroBubble),
)


def get_schedule_class(schedule_name: str) -> type[_PipelineSchedule]:
    """The schedule class of a name without "Schedule", case-insensitive: "1F1B".
    ValueError if there is none.
    """
    names = {kind.__name__.removeprefix("Schedule"): kind for kind in _SCHEDULES}
    for name, kind in names.items():
        if name.lower() == schedule_name.lower().removeprefix("schedule"):
            return kind
    raise ValueError(
        f"Unknown schedule '{schedule_name}'. The valid options are {sorted(names)}"
    )
