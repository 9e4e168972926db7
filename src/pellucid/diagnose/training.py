"""Which modules a program trains: those that its optimizers change, and those whose
gradients no optimizer reads.

Observed once, when an optimizer's second step ends: by then every gradient was computed
that the loop computes, and the loop's variables exist.
"""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any
from weakref import WeakKeyDictionary

_STEP = 2


@dataclass(frozen=True)
class Untrained:
    """A variable's module with gradients that no optimizer reads; ``trained``: the
    paths of its submodules that are trained whole.
    """

    name: str
    trained: tuple[str, ...]


class Training:
    """From `start` to `stop`, observes the optimizers of a program: ``made``, their
    number by line; `doubles` are its variables with float64 tensors or arrays.
    """

    def __init__(self) -> None:
        self.untrained: list[Untrained] = []
        self.doubles: set[str] = set()
        self.made: Counter[tuple[str, int]] = Counter()
        self._handle: Any = None
        self._steps: WeakKeyDictionary[Any, int] = WeakKeyDictionary()

    def start(self) -> None:
        """Wait for optimizers, and for a second step of one."""
        from pellucid.optim.optimizer import (
            Optimizer,
            register_optimizer_step_post_hook,
        )

        self._handle = register_optimizer_step_post_hook(self._after_step)
        self._original: Any = Optimizer.__init__

        def init(made: Any, *args: Any, **kwargs: Any) -> None:
            frame = next(_frames(sys._getframe(1)), None)
            if frame is not None:
                self.made[frame.f_code.co_filename, frame.f_lineno] += 1
            self._original(made, *args, **kwargs)

        Optimizer.__init__ = init  # type: ignore[method-assign, assignment]

    def stop(self) -> None:
        """Wait no more."""
        from pellucid.optim.optimizer import Optimizer

        Optimizer.__init__ = self._original  # type: ignore[method-assign]
        self._wait_no_more()

    def _wait_no_more(self) -> None:
        if self._handle is not None:
            self._handle.remove()
            self._handle = None

    def _after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        from pellucid.nn import Module

        steps = self._steps[optimizer] = self._steps.get(optimizer, 0) + 1
        if steps < _STEP:
            return
        self._wait_no_more()
        trained = _optimized()
        variables = _variables(sys._getframe(1))
        self.doubles = {name for name, own in variables.items() if _is_double(own)}
        for name, module in variables.items():
            if not issubclass(type(module), Module):
                continue
            found = _untrained(name, module, trained)
            if found is not None:
                self.untrained.append(found)


def _optimized() -> set[int]:
    """Of the parameters of all optimizers."""
    from pellucid.memory._live import instances
    from pellucid.optim.optimizer import Optimizer

    optimizers = instances(Optimizer, gc.get_objects())
    groups = [group for one in optimizers for group in one.param_groups]
    return {id(parameter) for group in groups for parameter in group["params"]}


def _variables(frame: FrameType | None) -> dict[str, Any]:
    """Those of the program's running functions, the innermost first."""
    found: dict[str, Any] = {}
    for own in _frames(frame):
        for name, value in {**own.f_globals, **own.f_locals}.items():
            found.setdefault(name, value)
    return found


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    """Those of the program, the innermost first."""
    from pellucid.profiler._timeline.log import Line

    while frame is not None:
        if Line(frame.f_code.co_filename, "", 0, 0).is_user:
            yield frame
        frame = frame.f_back


def _is_double(value: Any) -> bool:
    import numpy as np

    from pellucid._tensor import Tensor

    is_array = issubclass(type(value), Tensor | np.ndarray)
    return is_array and str(value.dtype).endswith("float64")


def _untrained(name: str, module: Any, trained: set[int]) -> Untrained | None:
    unread = [
        p for p in module.parameters() if p.grad is not None and id(p) not in trained
    ]
    if not unread:
        return None
    paths: list[str] = []
    for path, part in module.named_modules():
        parameters = list(part.parameters())
        inside = any(path.startswith(f"{outer}.") for outer in paths)
        if path and parameters and not inside:
            paths += [path] if all(id(p) in trained for p in parameters) else []
    return Untrained(name, tuple(paths))
