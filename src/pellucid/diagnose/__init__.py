"""Diagnoses a program: where time and memory go, what bounds it, and measured fixes.

    python -m pellucid.diagnose train.py      # verdict, fixes measured in pairs
    print(pellucid.diagnose(step))            # of a function, in this process

    with pellucid.diagnose() as d:
        train()
    print(d.report)

Shares of the wall time sum to 1; findings have a line, the evidence and a fix. Gains
are measured: by the command in child processes that run the original and the patched
program, for a function in this process. A context runs once and measures no gains.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType, TracebackType
from typing import Any, Self

from pellucid.diagnose.findings import Finding, Patch, Report
from pellucid.diagnose.machine import Machine, machine

__all__ = ["Diagnosis", "Finding", "Machine", "Patch", "Report", "diagnose", "machine"]


class Diagnosis:
    """A context; afterwards ``report`` is the verdict on the code inside."""

    def __init__(self) -> None:
        self.report: Report | None = None

    def __enter__(self) -> Self:
        from pellucid.diagnose.session import Recording

        self._recording = Recording()
        self._recording.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        from pellucid.diagnose.verdict import report_of

        self.report = report_of(self._recording.stop())

    def __str__(self) -> str:
        return str(self.report)


def diagnose(fn: Callable[..., Any] | None = None, *args: Any, **kwargs: Any) -> Any:
    """The report of ``fn(*args, **kwargs)``. The function runs once unrecorded, then
    for a tenth of a second or ten times, once to compare the values of its
    expressions if these are in question, then for each fix, original and patched.
    Without a function, a context.

    Example: ``print(pellucid.diagnose(step))``.
    """
    if fn is None:
        return Diagnosis()
    import time

    from pellucid.diagnose.trials import ask_function, measure_function

    fn(*args, **kwargs)
    context = Diagnosis()
    with context:
        end, runs = time.perf_counter() + 0.1, 0
        while runs < 10 and (not runs or time.perf_counter() < end):
            fn(*args, **kwargs)
            runs += 1
    assert context.report is not None
    context.report.runs = runs
    ask_function(lambda f: f(*args, **kwargs), fn, context.report)
    measure_function(lambda f: f(*args, **kwargs), fn, context.report)
    return context.report


class _Callable(ModuleType):
    """Makes the package callable: ``pellucid.diagnose(fn)``."""

    def __call__(
        self, fn: Callable[..., Any] | None = None, *args: Any, **kwargs: Any
    ) -> Any:
        return diagnose(fn, *args, **kwargs)


sys.modules[__name__].__class__ = _Callable
