"""``draft_export``: always exports a program, and reports its assumptions.

Where ``export`` refuses a program, a draft adds an assumption: a range is narrowed to
the part where a condition holds, a size is fixed to the example's, and data-dependent
decisions use the example's values.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from pellucid._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
)
from pellucid.export.exported_program import ExportedProgram
from pellucid.export.tracing import ConstraintError, bound_of, exported
from pellucid.fx.experimental.size_nodes import SizeError
from pellucid.nn import Module
from pellucid.utils._symbolic.environment import (
    DerivedSize,
    Guard,
    GuardOnDataDependentSymNode,
    ShapeEnv,
    Symbol,
)

__all__ = ["DraftExportReport", "FailureReport", "FailureType", "draft_export"]

_log = logging.getLogger(__name__)
_Sizes = dict[tuple[int, int], Symbol | DerivedSize]


class FailureType(Enum):
    """Reasons for which ``export`` would have refused the program."""

    DATA_DEPENDENT_ERROR = 2
    GUARD_ADDED = 3


@dataclass
class FailureReport:
    """One assumption: its kind, its content and its reason."""

    failure_type: FailureType
    data: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.data['assumed']}\n    {self.data['because']}"


@dataclass
class DraftExportReport:
    """What a draft assumes in addition to ``dynamic_shapes``."""

    failures: list[FailureReport] = field(default_factory=list)

    def successful(self) -> bool:
        """Whether ``export`` would return the same program."""
        return not self.failures

    def __str__(self) -> str:
        if self.successful():
            return "No issue: export returns this program"
        numbered = (f"{k + 1}. {f}" for k, f in enumerate(self.failures))
        return "The program holds only as follows:\n" + "\n".join(numbered)


class Assumptions:
    """Assumed sizes, narrowed ranges, and whether the example's values are used."""

    def __init__(self) -> None:
        self.report = DraftExportReport()
        self.numbers: list[str] = []
        self.bounds: dict[str, tuple[str, int]] = {}
        self.values_are_examples = False

    def applied(self, env: ShapeEnv, sizes: _Sizes) -> _Sizes:
        """The dynamic sizes under the assumptions so far."""
        if self.values_are_examples:
            env.symbols.clear()
            return {}
        for name in self.numbers:
            env.symbols.pop(name, None)
        for name, (end, value) in self.bounds.items():
            if name in env.symbols:
                setattr(env.symbols[name], end, value)
        return {p: s for p, s in sizes.items() if s.name in env.symbols}

    def fix(self, name: str, because: str) -> None:
        """Fixes the size to the example's."""
        self.numbers.append(name)
        self._add(FailureType.GUARD_ADDED, f"{name} is the example's size", because)

    def hold(self, guard: Guard) -> None:
        """Assumes the condition: narrows a range, or fixes the size to the
        example's.
        """
        name = min(guard.left.free_symbols | guard.right.free_symbols)
        bound = bound_of(guard)
        if bound is None or self.bounds.get(name) == bound:
            return self.fix(name, f"{guard} at {guard.place}")
        self.bounds[name] = bound
        self._add(FailureType.GUARD_ADDED, str(guard), f"at {guard.place}")

    def take_values(self, error: Exception) -> None:
        """Fixes values to the example's, and all sizes with them."""
        self.values_are_examples = True
        assumed = "data-dependent decisions, and all sizes, are the example's"
        self._add(FailureType.DATA_DEPENDENT_ERROR, assumed, str(error))

    def _add(self, kind: FailureType, assumed: str, because: str) -> None:
        facts = {"assumed": assumed, "because": because}
        self.report.failures.append(FailureReport(kind, facts))


def draft_export(
    mod: Module,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    preserve_module_call_signature: Sequence[str] = (),
    strict: bool = False,
    prefer_deferred_runtime_asserts_over_guards: bool = False,
) -> ExportedProgram:
    """Like ``export``, for programs that it refuses: the assumptions are in the
    result's ``_report``, and logged. The arguments are those of ``export``. With a
    data-dependent decision the program is valid only for the example's values and
    sizes.

    Example::

        program = draft_export(model, (x,), dynamic_shapes={"x": {0: Dim("batch")}})
        print(program._report)
    """
    assumed = Assumptions()
    while True:
        try:
            program = exported(
                *(mod, args, kwargs, dynamic_shapes),
                preserve_module_call_signature,
                assumed,
            )
        except ConstraintError as error:
            for guard in error.guards:
                assumed.hold(guard)
        except SizeError as error:
            named = [n for n in error.names if n not in assumed.numbers]
            if not named:
                raise
            assumed.fix(named[0], str(error))
        except (
            DataDependentOutputException,
            DynamicOutputShapeException,
            GuardOnDataDependentSymNode,
        ) as error:
            if assumed.values_are_examples:
                raise
            assumed.take_values(error)
        else:
            break
    program._report = assumed.report
    if not assumed.report.successful():
        _log.warning("%s", assumed.report)
    return program
