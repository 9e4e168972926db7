"""In which order a stage runs the microbatches of a step, forward and backward."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import pellucid as torch
from pellucid.distributed.pipelining.stage import PipelineStage

__all__ = ["Schedule1F1B", "ScheduleGPipe"]

_Action = tuple[str, int]  # "F" or "B", and the microbatch


class _Schedule(ABC):
    def __init__(
        self,
        stage: PipelineStage,
        n_microbatches: int,
        loss_fn: Callable[..., Any] | None = None,
        scale_grads: bool = True,
    ) -> None:
        self._stage, self._count = stage, n_microbatches
        self._loss_fn, self._scale_grads = loss_fn, scale_grads

    @abstractmethod
    def _actions(self) -> Iterator[_Action]:
        """What this stage does, in order."""

    def step(
        self, *args: Any, target: Any = None, losses: Any = None, **kwargs: Any
    ) -> Any:
        """Runs a batch: the first stage gives its inputs, the last one its target.

        The last stage gets the outputs, and each microbatch's loss in ``losses``.
        Gradients are the mean over microbatches.
        """
        stage, trains = self._stage, self._loss_fn is not None
        parts = self._split(args, kwargs)
        targets = None if target is None else self._chunks(target)
        if stage.is_last and trains and targets is None:
            raise ValueError("the last stage needs target= for its loss")
        outputs: list[Any] = []
        found: dict[int, Any] = {}
        stage.begin()
        for kind, number in self._actions():
            if kind == "F":
                output = stage.forward(number, *parts[number])
                if stage.is_last:
                    outputs.append(output)
                    if self._loss_fn is not None and targets is not None:
                        found[number] = self._loss_fn(output, targets[number])
            elif trains:
                stage.backward(number, found.get(number))
        stage.finish(self._count if trains and self._scale_grads else 1)
        if losses is not None:
            losses[:] = [found[number].detach() for number in sorted(found)]
        return torch.cat(outputs) if stage.is_last else None

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
        if len(value) < self._count:
            raise ValueError(
                f"a batch of {len(value)} is too small for {self._count} microbatches"
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


class ScheduleGPipe(_Schedule):
    """All microbatches forward, then all backward."""

    def _actions(self) -> Iterator[_Action]:
        yield from (("F", number) for number in range(self._count))
        yield from (("B", number) for number in range(self._count))


class Schedule1F1B(_Schedule):
    """One forward, one backward in turn, once the pipeline is full: a stage holds at
    most as many microbatches as there are stages after it.
    """

    def _actions(self) -> Iterator[_Action]:
        stage = self._stage
        ahead = min(self._count, stage.num_stages - stage.stage_index)
        yield from (("F", number) for number in range(ahead))
        for number in range(self._count):
            yield "B", number
            if number + ahead < self._count:
                yield "F", number + ahead
