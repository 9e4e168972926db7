"""``torch.fx.passes.pass_manager``: passes as plain functions of one value, in order.

``infra/pass_manager.py`` has the newer form, whose passes say whether they changed the
module.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from pellucid.fx.passes.infra.pass_manager import (
    _topological_sort_passes,
    _validate_pass_schedule_constraint,
    this_before_that_pass_constraint,
)

__all__ = [
    "PassManager",
    "inplace_wrapper",
    "log_hook",
    "loop_pass",
    "these_before_those_pass_constraint",
    "this_before_that_pass_constraint",
    "unwrap_ref",
]

Pass = Callable[..., Any]


def inplace_wrapper(fn: Pass) -> Pass:
    """A pass that calls ``fn``, which changes its argument, and returns that."""

    @functools.wraps(fn)
    def wrapped(gm: Any) -> Any:
        fn(gm)
        return gm

    return wrapped


def log_hook(fn: Pass, level: int = 20) -> Pass:
    """A pass that logs its name and what it returns."""
    import logging

    @functools.wraps(fn)
    def wrapped(gm: Any) -> Any:
        result = fn(gm)
        logging.getLogger(__name__).log(level, "Ran pass %s\n%s", fn, result)
        return result

    return wrapped


def loop_pass(
    base_pass: Pass,
    n_iter: int | None = None,
    predicate: Callable[[Any], bool] | None = None,
) -> Pass:
    """A pass that runs ``base_pass`` ``n_iter`` times, or while ``predicate`` holds."""
    if (n_iter is None) == (predicate is None):
        raise AssertionError("Exactly one of `n_iter`or `predicate` must be specified.")

    @functools.wraps(base_pass)
    def repeated(source: Any) -> Any:
        if predicate is None:
            for _ in range(n_iter or 0):
                source = base_pass(source)
        else:
            while predicate(source):
                source = base_pass(source)
        return source

    return repeated


def unwrap_ref(fn: Pass) -> Pass:
    """The function behind decorators."""
    return getattr(fn, "__wrapped__", fn)


def these_before_those_pass_constraint(
    these: Pass, those: Pass
) -> Callable[[Pass, Pass], bool]:
    """``this_before_that_pass_constraint`` for passes behind decorators."""
    before = this_before_that_pass_constraint(unwrap_ref(these), unwrap_ref(those))
    return lambda a, b: before(unwrap_ref(a), unwrap_ref(b))


class PassManager:
    """Runs passes in order, each on the result of the one before.

    ``constraints`` are functions of two passes that are false where the first must not
    be before the second. Example::

        manager = PassManager(passes=[inplace_wrapper(fold), fuse])
        module = manager(module)
    """

    def __init__(
        self,
        passes: list[Pass] | None = None,
        constraints: list[Callable[[Pass, Pass], bool]] | None = None,
    ) -> None:
        self.passes = passes or []
        self.constraints = constraints or []
        self._validated = False

    @classmethod
    def build_from_passlist(cls, passes: list[Pass]) -> PassManager:
        """One without constraints."""
        return cls(passes)

    def add_pass(self, _pass: Pass) -> None:
        """Adds a pass at the end."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint: Callable[[Pass, Pass], bool]) -> None:
        """Adds a constraint."""
        self.constraints.append(constraint)
        self._validated = False

    def remove_pass(self, _passes: list[str]) -> None:
        """Removes the passes of these names."""
        self.passes = [p for p in self.passes if p.__name__ not in _passes]
        self._validated = False

    def replace_pass(self, _target: Pass, _replacement: Pass) -> None:
        """Puts another pass in the place of those with the target's name."""
        self.passes = [
            _replacement if p.__name__ == _target.__name__ else p for p in self.passes
        ]
        self._validated = False

    def validate(self) -> None:
        """Raises RuntimeError where the order violates a constraint."""
        if not self._validated:
            for constraint in self.constraints:
                _validate_pass_schedule_constraint(constraint, self.passes)
            self._validated = True

    def solve_constraints(self) -> None:
        """Sorts the passes so that the constraints hold."""
        self.passes = _topological_sort_passes(self.passes, self.constraints)
        self._validated = True

    def __call__(self, source: Any) -> Any:
        self.validate()
        for run in self.passes:
            source = run(source)
        return source
