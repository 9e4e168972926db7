"""The actions of a schedule under PyTorch's names, and as rows of a CSV file."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import Any, NamedTuple

from pellucid.distributed.pipelining.stage import PipelineStage

__all__: list[str] = []


class _ComputationType(Enum):
    """What an action does; its value is what a schedule's file calls it."""

    FORWARD = "F"
    BACKWARD_INPUT = "I"
    BACKWARD_WEIGHT = "W"
    FULL_BACKWARD = "B"
    SEND_F = "SEND_F"
    RECV_F = "RECV_F"
    SEND_B = "SEND_B"
    RECV_B = "RECV_B"
    UNSHARD = "UNSHARD"
    RESHARD = "RESHARD"
    REDUCE_GRAD = "REDUCE_GRAD"
    OVERLAP_F_B = "OVERLAP_F_B"

    def __str__(self) -> str:
        return self.value

    @staticmethod
    def from_str(action: str) -> _ComputationType:
        """The type of a name in a file."""
        return _ComputationType(action)


FORWARD, FULL_BACKWARD = _ComputationType.FORWARD, _ComputationType.FULL_BACKWARD
BACKWARD_INPUT = _ComputationType.BACKWARD_INPUT
BACKWARD_WEIGHT = _ComputationType.BACKWARD_WEIGHT
COMPUTES = (FORWARD, FULL_BACKWARD, BACKWARD_INPUT, BACKWARD_WEIGHT)
_TEXT = re.compile(r"(\d+)(F|B|I|W|[A-Z]+_[FB]|UNSHARD|RESHARD|REDUCE_GRAD)(\d*)")
_JOINT = re.compile(r"\((.*)\)(OVERLAP_F_B)")


class _Action(NamedTuple):
    """``_Action(1, FORWARD, 2)``, or "1F2": stage 1 runs microbatch 2 forward. With
    ``sub_actions``, "(0F1;1B2)OVERLAP_F_B", several together: the stage is -1.
    """

    stage_index: int
    computation_type: _ComputationType
    microbatch_index: int | None = None
    sub_actions: tuple[_Action, ...] | None = None

    def __str__(self) -> str:
        if self.sub_actions is not None:
            return f"({';'.join(map(str, self.sub_actions))}){self.computation_type}"
        number = "" if self.microbatch_index is None else self.microbatch_index
        return f"{self.stage_index}{self.computation_type}{number}"

    @staticmethod
    def from_str(action_string: str) -> _Action | None:
        """The action of a cell of a file; None for an empty one, in which a rank
        waits.
        """
        text = action_string.strip()
        if not text:
            return None
        joint = _JOINT.fullmatch(text)
        if joint is not None:
            parts = tuple(map(_Action._required, joint[1].split(";")))
            return _Action(-1, _ComputationType(joint[2]), None, parts)
        return _Action._required(text)

    @staticmethod
    def _required(text: str) -> _Action:
        text = text.strip()
        found = _TEXT.fullmatch(text)
        if found is None:
            raise RuntimeError(f"Invalid action string: {text!r}, should be as 1F2")
        stage, kind, number = found.groups()
        return _Action(
            int(stage), _ComputationType(kind), int(number) if number else None
        )


class _PipelineContext(NamedTuple):
    """What a custom function of an action gets besides the action."""

    schedule_ref: Any
    arg_mbs: Sequence[Any] | None = None
    kwarg_mbs: Sequence[Any] | None = None
    target_mbs: Sequence[Any] | None = None
    losses: Any = None


def with_messages(
    actions: Iterable[_Action], stages: dict[int, int], num_stages: int
) -> Iterator[_Action]:
    """The actions of a rank with the messages that they receive and send. ``stages``:
    the rank of each stage.
    """
    kinds = _ComputationType
    for action in actions:
        stage, kind, number, _ = action
        step = -1 if kind is FORWARD else 1

        def crosses(step: int, stage: int = stage) -> bool:
            other = stage + step
            return 0 <= other < num_stages and stages[other] != stages[stage]

        if kind is BACKWARD_WEIGHT:
            yield action
            continue
        if crosses(step):
            yield _Action(stage, kinds.RECV_F if step < 0 else kinds.RECV_B, number)
        yield action
        if crosses(-step):
            yield _Action(stage, kinds.SEND_F if step < 0 else kinds.SEND_B, number)


def write_rows(filename: str, rows: Iterable[Iterable[_Action]]) -> None:
    """Writes a row for each rank."""
    with open(filename, "w", newline="") as file:
        csv.writer(file).writerows([map(str, row) for row in rows])


def read_rows(filename: str) -> list[list[_Action]]:
    """The computations of each rank, those that overlap one after the other: messages
    follow from them.
    """
    with open(filename, newline="") as file:
        rows = [[_Action.from_str(cell) for cell in row] for row in csv.reader(file)]
    each = ([b for a in row if a for b in a.sub_actions or (a,)] for row in rows)
    return [[a for a in row if a.computation_type in COMPUTES] for row in each]


def placement(rows: Sequence[Sequence[_Action]], stages: list[PipelineStage]) -> Any:
    """The rank of each stage. ValueError if this process's stages are not those of its
    row.
    """
    ranks: dict[int, int] = {}
    for rank, row in enumerate(rows):
        for action in row:
            if ranks.setdefault(action.stage_index, rank) != rank:
                raise ValueError(
                    f"stage {action.stage_index} is in the rows of the ranks "
                    f"{ranks[action.stage_index]} and {rank}"
                )
    first = stages[0]
    own = sorted(stage.stage_index for stage in stages)
    expected = sorted(s for s, rank in ranks.items() if rank == first.group_rank)
    if own != expected or sorted(ranks) != list(range(first.num_stages)):
        raise ValueError(
            f"rank {first.group_rank} has the stages {own} of {first.num_stages}; the "
            f"schedule gives it {expected} of {len(ranks)}"
        )
    return ranks
