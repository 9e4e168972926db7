"""Schedules: the order of forward and backward microbatches on each rank."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, ClassVar

import pellucid as torch
from pellucid.distributed.pipelining import actions, microbatch
from pellucid.distributed.pipelining.actions import (
    BACKWARD_INPUT as BACKWARD_INPUT,
)
from pellucid.distributed.pipelining.actions import (
    BACKWARD_WEIGHT as BACKWARD_WEIGHT,
)
from pellucid.distributed.pipelining.actions import FORWARD as FORWARD
from pellucid.distributed.pipelining.actions import FULL_BACKWARD as FULL_BACKWARD
from pellucid.distributed.pipelining.actions import (
    _ComputationType,
    _PipelineContext,
)
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
        args_chunk_spec: Any = None,
        kwargs_chunk_spec: Any = None,
        output_merge_spec: Any = None,
        scale_grads: bool = True,
    ) -> None:
        self._stages = {stage.stage_index: stage for stage in stages}
        self._count, self._loss_fn = n_microbatches, loss_fn
        self._scale_grads = scale_grads
        self._chunk_specs = args_chunk_spec, kwargs_chunk_spec
        self._merge_spec = output_merge_spec
        self._custom: dict[str, Callable[..., None]] = {}
        self._join(stages)
        self._plan = self._plan_of(list(self._stages))

    def _plan_of(self, own: list[int]) -> list[_Action]:
        """The actions of a rank with these stages."""
        num_stages = next(iter(self._stages.values())).num_stages
        return list(self._actions(own, num_stages, self._count))

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
        split = microbatch.split_args_kwargs_into_chunks
        parts = split(args, kwargs, self._count, *self._chunk_specs)
        targets = None if target is None else split((target,), None, self._count)[0]
        if gives_output and trains and targets is None:
            raise ValueError("the last stage needs target= for its loss")
        outputs: dict[int, Any] = {}
        found: dict[int, Any] = {}
        for stage in stages:
            stage.begin()
        context = _PipelineContext(self, *parts, targets, losses)
        for kind, index, number in self._plan:
            stage = self._stages[index]
            if kind in self._custom:
                named = actions._Action(index, _ComputationType(kind), number)
                self._custom[kind](named, context)
            elif kind == "F":
                output = stage.forward(number, parts[0][number], parts[1][number])
                if stage.is_last:
                    outputs[number] = output
                    if self._loss_fn is not None and targets is not None:
                        found[number] = self._loss_fn(output, *targets[number])
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
        listed = [outputs[number] for number in range(self._count)]
        return microbatch.merge_chunks(listed, self._merge_spec)

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

    # Schedules as files, of a row for each rank

    def _rows(self) -> list[list[actions._Action]]:
        first = next(iter(self._stages.values()))
        size, num_stages = first.group_size, first.num_stages
        places = [self._own_stages(rank, size, num_stages) for rank in range(size)]
        return [_named(self._plan_of(own)) for own in places]

    def _dump_csv(self, filename: str, format: str = "compute_comms") -> None:
        """Writes the actions of all ranks, without messages in the format
        "compute_only".
        """
        _check_format(format)
        rows: Any = self._rows()
        if format == "compute_comms":
            ranks = {a.stage_index: rank for rank, row in enumerate(rows) for a in row}
            rows = [actions.with_messages(row, ranks, len(ranks)) for row in rows]
        actions.write_rows(filename, rows)


def _check_format(format: str) -> None:
    if format not in ("compute_only", "compute_comms"):
        raise ValueError(f"the format is compute_only or compute_comms: {format!r}")


def _named(plan: list[_Action]) -> list[actions._Action]:
    return [actions._Action(s, _ComputationType(kind), n) for kind, s, n in plan]


class PipelineScheduleSingle(_PipelineSchedule):
    """Schedules with one stage on each rank."""

    def __init__(
        self,
        stage: PipelineStage,
        n_microbatches: int,
        loss_fn: Callable[..., Any] | None = None,
        *options: Any,
        **named: Any,
    ) -> None:
        if stage.num_stages != stage.group_size:
            raise ValueError(
                f"{type(self).__name__} has one stage on each of the group's "
                f"{stage.group_size} processes, not {stage.num_stages} in all; "
                "ScheduleInterleaved1F1B takes several"
            )
        super().__init__([stage], n_microbatches, loss_fn, *options, **named)


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

    def register_custom_function(
        self, computation_type: _ComputationType, custom_function: Callable[..., None]
    ) -> None:
        """``custom_function(action, context)`` runs instead of the actions of a type:
        one of the computations, which are what schedules consist of.
        """
        if computation_type not in actions.COMPUTES:
            names = ", ".join(kind.name for kind in actions.COMPUTES)
            raise ValueError(
                f"Invalid computation type {computation_type}: schedules have no such "
                f"actions, only {names}"
            )
        self._custom[computation_type.value] = custom_function


class _PipelineScheduleRuntime(PipelineScheduleMulti):
    """A schedule from a file: ``_load_csv`` must be called before ``step``."""

    def _join(self, stages: list[PipelineStage]) -> None:
        """The file says where the stages are."""
        self._loaded: list[list[actions._Action]] = []

    def _plan_of(self, own: list[int]) -> list[_Action]:
        return []

    @staticmethod
    def _actions(own: list[int], num_stages: int, count: int) -> Iterator[_Action]:
        return iter(())

    def _rows(self) -> list[list[actions._Action]]:
        return self._loaded

    def _load_csv(self, filename: str, format: str = "compute_only") -> None:
        """Reads the actions of all ranks; messages, which the format "compute_comms"
        has, follow from the others.
        """
        _check_format(format)
        stages = list(self._stages.values())
        self._loaded = actions.read_rows(filename)
        ranks = actions.placement(self._loaded, stages)
        for stage in stages:
            stage.join(ranks, stages)
        own = self._loaded[stages[0].group_rank]
        self._plan = [(a.computation_type.value, a[0], a[2] or 0) for a in own]

    def step(self, *args: Any, **kwargs: Any) -> Any:
        """Runs a batch."""
        if not self._plan:
            raise RuntimeError("call _load_csv before step: there is no schedule")
        return super().step(*args, **kwargs)


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
        *options: Any,
        **named: Any,
    ) -> None:
        num_stages = stages[0].num_stages
        if n_microbatches < num_stages:
            raise ValueError(
                "DualPipeV requires at least as many microbatches as stages, but got "
                f"{n_microbatches} microbatches and {num_stages} stages."
            )
        super().__init__(stages, n_microbatches, loss_fn, *options, **named)

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
