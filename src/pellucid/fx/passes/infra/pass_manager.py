"""``torch.fx.passes.infra.pass_manager``: runs passes in an order with constraints."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from queue import Queue
from typing import Any

from pellucid.fx.graph_module import GraphModule
from pellucid.fx.passes.infra.pass_base import PassResult
from pellucid.nn import Module

__all__ = ["PassManager", "pass_result_wrapper", "this_before_that_pass_constraint"]

logger = logging.getLogger(__name__)
Pass = Callable[..., Any]
Constraint = Callable[[Pass, Pass], bool]


def pass_result_wrapper(fn: Pass) -> Pass:
    """Wraps an in-place pass, so that it returns a PassResult."""
    annotation = inspect.signature(fn).return_annotation
    if annotation is PassResult or annotation == "PassResult":
        return fn

    def wrapped(gm: GraphModule) -> PassResult:
        result = fn(gm)
        if result is None:
            return PassResult(gm, True)
        if isinstance(result, PassResult):
            return result
        return PassResult(result, True)

    wrapped.__name__ = fn.__name__ if inspect.isfunction(fn) else type(fn).__name__
    return wrapped


def _validate_pass_schedule_constraint(
    constraint: Constraint, passes: list[Pass]
) -> None:
    for index, first in enumerate(passes):
        for second in passes[index + 1 :]:
            if not constraint(first, second):
                raise RuntimeError(
                    f"pass schedule constraint violated. Expected {first} before "
                    f"{second} but found {first} at index {index} and {second} "
                    f"behind it"
                )


def _topological_sort_passes(
    passes: list[Pass], constraints: list[Constraint]
) -> list[Pass]:
    if not constraints:
        return passes
    graph: dict[Pass, list[Pass]] = {p: [] for p in passes}
    degree = dict.fromkeys(passes, 0)
    ready: Queue[Pass] = Queue()
    for first in passes:
        for second in passes:
            if first is second or all(c(first, second) for c in constraints):
                continue
            graph[second].append(first)
            degree[first] += 1
    for p in passes:
        if degree[p] == 0:
            ready.put(p)
    ordered = []
    while not ready.empty():
        current = ready.get()
        ordered.append(current)
        for behind in graph[current]:
            degree[behind] -= 1
            if degree[behind] == 0:
                ready.put(behind)
    stuck = [p for p, count in degree.items() if count]
    if stuck:
        raise RuntimeError(
            f"Circular dependency detected within the following passes: {stuck}"
        )
    return ordered


def this_before_that_pass_constraint(this: Pass, that: Pass) -> Constraint:
    """The constraint that ``that`` never precedes ``this``."""

    def constraint(a: Pass, b: Pass) -> bool:
        return not (a == that and b == this)

    return constraint


class PassManager:
    """Runs passes ``steps`` times, or until none changes the module."""

    def __init__(
        self,
        passes: list[Pass] | None = None,
        constraints: list[Constraint] | None = None,
        steps: int | None = None,
        run_checks_after_each_pass: bool = False,
        suppress_check_failures: bool = False,
    ) -> None:
        self.passes: list[Pass] = list(passes or [])
        self.constraints: list[Constraint] = list(constraints or [])
        self.steps = steps or 1
        self._validated = False
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures

    def add_pass(self, _pass: Pass) -> None:
        """Appends a pass."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint: Constraint) -> None:
        """Adds a constraint ``(first, second) -> bool``."""
        self.constraints.append(constraint)
        self._validated = False

    def validate_constraints(self) -> None:
        """Raises RuntimeError if the order violates a constraint."""
        if not self._validated:
            for constraint in self.constraints:
                _validate_pass_schedule_constraint(constraint, self.passes)
            self._validated = True

    def solve_constraints(self) -> None:
        """Order the passes by the constraints."""
        self.passes = _topological_sort_passes(self.passes, self.constraints)
        self._validated = True

    def add_checks(self, check: Callable[..., Any]) -> None:
        """Check the module after passes by ``check(module)``."""
        if len(inspect.signature(check).parameters) != 1:
            raise TypeError(
                "PassManager check function should only take in one variable, a module"
            )
        self.check = check  # type: ignore[method-assign]

    def check(self, module: Module) -> None:
        """Raises if the module is invalid; users replace it by ``add_checks``."""

    def __call__(self, module: Module) -> PassResult:
        if not self._validated:
            self.solve_constraints()
        self.check(module)
        overall = False
        for _ in range(self.steps):
            modified = False
            for index, fn in enumerate(self.passes):
                module, changed = self._run(fn, index, module)
                modified = modified or changed
                if self.run_checks_after_each_pass:
                    self.check(module)
            overall = overall or modified
            if not modified:
                break
        return PassResult(module, overall)  # type: ignore[arg-type]

    def _run(self, fn: Pass, index: int, module: Module) -> tuple[Module, bool]:
        name = fn.__name__ if inspect.isfunction(fn) else type(fn).__name__
        try:
            result = fn(module)
            if not isinstance(result, PassResult):
                raise TypeError(
                    f"The result of the pass {name} should be type PassResult. Please "
                    "wrap it with pass_result_wrapper()"
                )
        except Exception as error:
            done = [
                p.__name__ if inspect.isfunction(p) else type(p).__name__
                for p in self.passes[:index]
            ]
            raise Exception(
                f"An error occurred when running the '{name}' pass after the following "
                f"passes: {done}"
            ) from error
        if isinstance(result.graph_module, GraphModule):
            result.graph_module.recompile()
        return result.graph_module, result.modified
