"""The status that a kernel returns after all elements: the failure of an element.

An integer division by zero, or a condition on elements that does not hold, sets the
status and leaves the loops unchanged. Used by map.py and reduce.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pellucid_compiler.abi.status import REQUIREMENT_FAILED, status
from pellucid_compiler.codegen.builder import I64, Function, Value
from pellucid_compiler.codegen.emit import Emitter
from pellucid_compiler.ir.expr import Expr, make
from pellucid_compiler.ir.traversal import conditions_checked


def failed_checks(values: Sequence[Expr]) -> list[tuple[Expr, int]]:
    """The negated conditions of the bodies' checks, and the status of each."""
    return [
        (make("not", holds), status(REQUIREMENT_FAILED, number))
        for number, holds in conditions_checked(*values)
    ]


class Failures:
    """The conditions under which a kernel fails, and the status that it returns."""

    def __init__(
        self, function: Function, found: Sequence[tuple[Expr, int]], lanes: int
    ) -> None:
        self.function, self.found, self.lanes = function, found, lanes
        if found:
            self._status = function.stack(8)
            function.store(function.integer(0), self._status)

    @property
    def roots(self) -> list[Expr]:
        return [condition for condition, _ in self.found]

    def check(self, emitter: Emitter, left: Value | None) -> None:
        """Check one vector, of which ``left`` lanes are active."""
        f = self.function
        for condition, failure in self.found:
            bad = emitter.value(condition)
            if left is not None:
                bad = bad & f.first_lanes(left, self.lanes)
            f.branch(f.any_lane(bad), self._setter(failure))

    def _setter(self, failure: int) -> Callable[[], None]:
        f = self.function
        return lambda: f.store(f.integer(failure), self._status)

    def status(self) -> Value:
        """The kernel's status."""
        f = self.function
        return f.load(self._status, I64) if self.found else f.integer(0)
