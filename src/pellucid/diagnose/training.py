"""Which modules a program trains: those that its optimizers change, and those whose
gradients no optimizer reads.

Observed once, when an optimizer's second step ends: by then every gradient was computed
that the loop computes, and the loop's variables exist.
"""

from __future__ import annotations

import gc
import sys
from dataclasses import dataclass
from types import FrameType
from typing import Any

_STEP = 2


@dataclass(frozen=True)
class Untrained:
    """A variable's module with gradients that no optimizer reads; ``trained``: the
    paths of its submodules that are trained whole.
    """

    name: str
    trained: tuple[str, ...]


class Training:
    """From `start` to `stop`, observes the optimizers of a program; `integers` are its
    variables with tensors of integers.
    """

    def __init__(self) -> None:
        self.untrained: list[Untrained] = []
        self.integers: set[str] = set()
        self._handle: Any = None
        self._steps: dict[int, int] = {}

    def start(self) -> None:
        """Wait for a second step from now on."""
        from pellucid.optim.optimizer import register_optimizer_step_post_hook

        self._handle = register_optimizer_step_post_hook(self._after_step)

    def stop(self) -> None:
        """Wait no more."""
        if self._handle is not None:
            self._handle.remove()
            self._handle = None

    def _after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        from pellucid.nn import Module

        steps = self._steps[id(optimizer)] = self._steps.get(id(optimizer), 0) + 1
        if steps < _STEP:
            return
        self.stop()
        trained = _optimized()
        variables = _variables(sys._getframe(1))
        self.integers = {
            name for name, value in variables.items() if _is_integer(value)
        }
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
    from pellucid.profiler._timeline.log import Line

    found: dict[str, Any] = {}
    while frame is not None:
        if Line(frame.f_code.co_filename, "", 0, 0).is_user:
            for name, value in {**frame.f_globals, **frame.f_locals}.items():
                found.setdefault(name, value)
        frame = frame.f_back
    return found


def _is_integer(value: Any) -> bool:
    from pellucid._tensor import Tensor

    return issubclass(type(value), Tensor) and not value.dtype.is_floating_point


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
