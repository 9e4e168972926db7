"""``TrainingReport``: watches a training loop and writes its page.

Hooks of the optimizer tell where a step begins and ends; hooks of the model tell where
forward passes do. What is between them is what they leave: from the end of the last
forward pass to the optimizer is the loss and the backward pass, from the optimizer to
the next forward pass is data and all else.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

from pellucid import Tensor, nn
from pellucid.nn.utils import get_total_norm
from pellucid.optim import Optimizer
from pellucid.viz.single_file import write_page
from pellucid.viz.training_report.page import make_page
from pellucid.viz.training_report.samples import sample
from pellucid.viz.training_report.series import Series

PARTS = ("data and other", "forward", "loss and backward", "optimizer", "evaluation")
_DATA, _FORWARD, _BACKWARD, _OPTIMIZER, _EVALUATION = range(len(PARTS))
_SECONDS_BETWEEN_WRITES = 10.0
_MOST_SAMPLES = 12  # of one name; the latest are kept


class TrainingReport:
    """The result of ``viz.training``; a context manager."""

    def __init__(
        self, path: str | Path, model: nn.Module, optimizer: Optimizer, title: str
    ) -> None:
        self.path, self.title = Path(path), title or type(model).__name__
        write_page(self.path, "")  # a path that cannot be written fails before training
        self.step = 0  # steps of the optimizer so far
        self.numbers: dict[str, Series] = {}
        self.rates: dict[str, Series] = {}
        self.norms: dict[str, Series] = {}
        self.times = {part: Series() for part in PARTS}
        self.samples: dict[str, list[dict[str, Any]]] = {}
        self.facts = _facts(model, optimizer)
        self.began = self._written = self._mark = time.perf_counter()
        self._spent = [0.0] * len(PARTS)
        self._depth = 0  # of forward passes of the model in one another
        self._groups = _groups(model, optimizer)
        self._handles = [
            model.register_forward_pre_hook(self._enter_forward),
            model.register_forward_hook(self._leave_forward, always_call=True),
            optimizer.register_step_pre_hook(self._enter_step),
            optimizer.register_step_post_hook(self._leave_step),
        ]

    def __enter__(self) -> TrainingReport:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            self.facts["ended by"] = f"{type(error).__name__}: {error}"[:500]
        self.close()

    def log(self, **numbers: float | Tensor) -> None:
        """Notes numbers of the last step by name, such as ``loss`` and ``accuracy``.

        Raises TypeError for all but numbers and tensors of one element.
        """
        for name, given in numbers.items():
            try:
                number = float(given)
            except (TypeError, ValueError, RuntimeError):
                raise TypeError(
                    f"log() takes numbers and tensors of one element; {name} is "
                    f"{_shown(given)}"
                ) from None
            self.numbers.setdefault(name, Series()).add(self.step, number)

    def show(self, name: str, value: str | Tensor) -> None:
        """Keeps a sample of the last step: a text or pictures, a tensor of shape
        ``(H, W)``, ``(C, H, W)`` or ``(N, C, H, W)``, bytes or floats from 0 to 1.
        The page has the first and the latest eleven of a name.

        Raises TypeError and ValueError for other values.
        """
        shown = self.samples.setdefault(name, [])
        shown.append({"step": self.step, **sample(value)})
        if len(shown) > _MOST_SAMPLES:
            del shown[1]

    def save(self) -> Path:
        """Writes the page as it is now; returns its path."""
        self._written = time.perf_counter()
        return write_page(self.path, make_page(self.title, self._data()))

    def close(self) -> None:
        """Stops recording and writes the page."""
        for handle in self._handles:
            handle.remove()
        self._handles = []
        self.save()

    def _data(self) -> dict[str, Any]:
        """What the page draws, as JSON types."""
        seconds = time.perf_counter() - self.began
        facts = {"steps": f"{self.step:,}", "time": f"{seconds:,.1f} s", **self.facts}
        if self.step:
            facts["steps per second"] = f"{self.step / seconds:.3g}"
        return {
            "title": self.title,
            "facts": facts,
            "logged": _curves(self.numbers),
            "rates": _curves(self.rates),
            "norms": _curves(self.norms),
            "times": _curves(self.times),
            "totals": {part: sum(times.values) for part, times in self.times.items()},
            "samples": self.samples,
        }

    # Hooks

    def _spend(self, part: int) -> None:
        now = time.perf_counter()
        self._spent[part] += now - self._mark
        self._mark = now

    def _enter_forward(self, model: nn.Module, args: Any) -> None:
        if not self._depth:
            # Forward passes before this one in the step had a loss behind them.
            self._spend(_BACKWARD if self._spent[_FORWARD] else _DATA)
        self._depth += 1

    def _leave_forward(self, model: nn.Module, args: Any, result: Any) -> None:
        self._depth -= 1
        if not self._depth:
            self._spend(_FORWARD if model.training else _EVALUATION)

    def _enter_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        self._spend(_BACKWARD if self._spent[_FORWARD] else _DATA)
        for name, parameters in self._groups.items():
            gradients = [p.grad for p in parameters if p.grad is not None]
            if gradients:
                norm = get_total_norm(gradients).item()
                self.norms.setdefault(name, Series()).add(self.step + 1, norm)
        for k, group in enumerate(optimizer.param_groups):
            name = f"group {k}" if len(optimizer.param_groups) > 1 else "learning rate"
            series = self.rates.setdefault(name, Series())
            series.add(self.step + 1, float(group["lr"]))
        self._mark = time.perf_counter()  # what the report takes is not counted

    def _leave_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        self._spend(_OPTIMIZER)
        self.step += 1
        for series, seconds in zip(self.times.values(), self._spent, strict=True):
            series.add(self.step, seconds * 1e3)
        self._spent = [0.0] * len(PARTS)
        if time.perf_counter() - self._written > _SECONDS_BETWEEN_WRITES:
            self.save()
            self._mark = time.perf_counter()


def _curves(series: dict[str, Series]) -> dict[str, Any]:
    return {name: found.data() for name, found in series.items() if found.values}


def _shown(given: Any) -> str:
    if isinstance(given, Tensor):
        return f"a tensor of shape {tuple(given.shape)}"
    return f"{given!r}"[:80]


def _groups(model: nn.Module, optimizer: Optimizer) -> dict[str, list[Tensor]]:
    """The parameters whose gradients are measured together: all, and those of each
    part of the model.
    """
    trained = {p for group in optimizer.param_groups for p in group["params"]}
    found = {"all": list(trained)}
    parts = list(model.named_children())
    for name, part in parts if len(parts) > 1 else ():
        own = _of(part.parameters(), trained)
        if own:
            found[name] = own
    return found


def _of(parameters: Iterable[Tensor], trained: set[Tensor]) -> list[Tensor]:
    return [p for p in parameters if p in trained]


def _facts(model: nn.Module, optimizer: Optimizer) -> dict[str, Any]:
    count = sum(p.numel() for p in model.parameters())
    settings = {
        name: value
        for name, value in optimizer.defaults.items()
        if isinstance(value, float | int | tuple) and not isinstance(value, bool)
    }
    text = ", ".join(f"{name} {value}" for name, value in settings.items())
    return {
        "model": f"{type(model).__name__}, {count:,} parameters",
        "optimizer": f"{type(optimizer).__name__}: {text}",
    }
