"""``Timer``, ``Measurement`` and ``Compare``: time a statement.

Programs call it in the place of ``timeit``: a Timer warms up, sets the number of
threads and chooses how often to run; ``_benchmark_table.py`` lays several results out,
``_benchmark_fuzzer.py`` makes random operands.
"""

from __future__ import annotations

import statistics
import textwrap
import timeit
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import pellucid
from pellucid._package.homes import put_homes as _put_homes
from pellucid.utils._benchmark_fuzzer import (
    FuzzedParameter,
    FuzzedSparseTensor,
    FuzzedTensor,
    Fuzzer,
    ParameterAlias,
)
from pellucid.utils._benchmark_table import (
    Colors,
    in_unit,
    select_unit,
    table,
    trim_sigfig,
    unit_to_english,
)

__all__ = [
    "Colorize",
    "Compare",
    "FuzzedParameter",
    "FuzzedSparseTensor",
    "FuzzedTensor",
    "Fuzzer",
    "Language",
    "Measurement",
    "ParameterAlias",
    "TaskSpec",
    "Timer",
    "ordered_unique",
    "select_unit",
    "set_torch_threads",
    "timer",
    "trim_sigfig",
    "unit_to_english",
]

timer = timeit.default_timer
__path__: list[str] = []  # PyTorch's is a package: utils.benchmark.utils.timer


class Language(Enum):
    """What a Timer's statement is written in."""

    PYTHON = 0
    CPP = 1


class Colorize(Enum):
    """Among which times of a table the best one is looked for."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


@dataclass(frozen=True)
class TaskSpec:
    """What was timed, and the labels of the results."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The heading of a result."""
        name = self.stmt if self.label is None else self.label
        if self.label is None and "\n" in self.stmt:
            place = f" ({self.sub_label})" if self.sub_label else ""
            return f"stmt:{place}\n{textwrap.indent(self.stmt, '  ')}"
        return name + (f": {self.sub_label}" if self.sub_label else "")

    @property
    def as_row_name(self) -> str:
        """The name of a table's row."""
        return self.sub_label or self.stmt


@dataclass
class Measurement:
    """Times of one statement: ``raw_times`` are seconds of ``number_per_run`` runs."""

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = field(default=None, repr=False)

    @property
    def times(self) -> list[float]:
        """Seconds of one run, in each measurement."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def median(self) -> float:
        """The median of the times, in seconds."""
        return statistics.median(self.times)

    @property
    def mean(self) -> float:
        """The mean of the times, in seconds."""
        return statistics.fmean(self.times)

    @property
    def iqr(self) -> float:
        """The interquartile range; 0 for a single measurement."""
        low, high = self._quartiles()
        return high - low

    @property
    def has_warnings(self) -> bool:
        """Whether the times are too few or too scattered to be reliable."""
        return self.iqr / self.median > 0.1 or len(self.times) < 4

    @property
    def title(self) -> str:
        """The heading of the result."""
        return self.task_spec.title

    @property
    def as_row_name(self) -> str:
        """The name of a table's row."""
        return self.task_spec.as_row_name

    def _quartiles(self) -> tuple[float, float]:
        if len(self.times) < 2:
            return self.median, self.median
        low, _, high = statistics.quantiles(self.times, n=4, method="inclusive")
        return low, high

    def __getattr__(self, name: str) -> Any:
        if name in TaskSpec.__dataclass_fields__:
            return getattr(self.task_spec, name)
        raise AttributeError(f"a Measurement has no attribute {name!r}")

    def __repr__(self) -> str:
        several = len(self.times) > 1
        lines = [f"{object.__repr__(self)}\n{self.title}"]
        if self.task_spec.setup not in ("", "pass"):
            lines.append(f"setup: {self.task_spec.setup}")
        lines.append(("  Median: " if several else "  ") + in_unit(self.median))
        if several:
            low, high = (in_unit(t) for t in self._quartiles())
            lines.append(f"  IQR:    {in_unit(self.iqr)} ({low} to {high})")
        threads = self.task_spec.num_threads
        lines.append(
            f"  {len(self.times)} measurement{'s' * several}, {self.number_per_run} "
            f"runs {'per measurement' * several}, {threads} thread{'s' * (threads > 1)}"
        )
        if several and self.has_warnings:
            lines.append("  The times are few or far apart: measure for longer.")
        return "\n".join(lines)

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Merges measurements: one for each statement."""
        groups: dict[TaskSpec, list[Measurement]] = {}
        for measurement in measurements:
            groups.setdefault(measurement.task_spec, []).append(measurement)
        return [
            Measurement(1, [t for m in group for t in m.times], spec)
            for spec, group in groups.items()
        ]


class Timer:
    """Times ``stmt``, Python text that sees ``globals`` and what ``setup`` defined.

    Ops use ``num_threads`` threads. ``label``, ``sub_label`` and ``description`` are
    the table, row and column of the result in :class:`Compare`. Raises
    NotImplementedError for ``language`` "c++".

    Example::

        t = Timer("x @ x", globals={"x": torch.randn(64, 64)})
        print(t.blocked_autorange())
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Any = Language.PYTHON,
    ) -> None:
        if language not in (Language.PYTHON, "py", "python"):
            raise NotImplementedError("Timer times Python statements, no C++")
        if global_setup:
            raise ValueError("global_setup is for C++; use setup")
        stmt, setup = _dedented(stmt), _dedented(setup)
        names = {"torch": pellucid, **(globals or {})}
        self._timer = timeit.Timer(stmt, setup, timer, names)
        self._task_spec = TaskSpec(
            stmt, setup, "", label, sub_label, description, env, num_threads
        )

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """One measurement of ``number`` runs, after some to warm up."""
        with set_torch_threads(self._task_spec.num_threads):
            self._timer.timeit(max(number // 100, 2))
            return self._measured(number, [self._timer.timeit(number)])

    def blocked_autorange(
        self,
        callback: Callable[[int, float], Any] | None = None,
        min_run_time: float = 0.2,
    ) -> Measurement:
        """Measurements for ``min_run_time`` seconds, each with enough runs to make the
        clock's overhead small.
        """
        with set_torch_threads(self._task_spec.num_threads):
            number = self._block_size(min_run_time)
            times: list[float] = []
            while not times or sum(times) < min_run_time:
                times.append(self._timer.timeit(number))
                if callback is not None:
                    callback(number, times[-1])
        return self._measured(number, times)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:
        """Measurements until their quartiles are within ``threshold`` of the median."""
        with set_torch_threads(self._task_spec.num_threads):
            number = self._block_size(min_run_time)
            times: list[float] = []
            while sum(times) < max_run_time:
                times.append(self._timer.timeit(number))
                if callback is not None:
                    callback(number, times[-1])
                found = self._measured(number, times)
                steady = len(times) > 3 and found.iqr / found.median < threshold
                if steady and sum(times) >= min_run_time:
                    break
        return self._measured(number, times)

    def _block_size(self, min_run_time: float) -> int:
        overhead = statistics.median(self._timer.timeit(0) for _ in range(5))
        number = 1
        while True:
            taken = self._timer.timeit(number)
            if (
                taken >= max(min_run_time / 1000, 1e4 * overhead)
                or taken > min_run_time
            ):
                return number
            number *= 10

    def _measured(self, number: int, times: list[float]) -> Measurement:
        return Measurement(number, list(times), self._task_spec)


def _dedented(text: str) -> str:
    """Lines of a function's body, dedented."""
    return textwrap.dedent(text).removeprefix("\n").rstrip()


@contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """Sets the number of threads inside a ``with`` statement."""
    before = pellucid.get_num_threads()
    pellucid.set_num_threads(n)
    try:
        yield
    finally:
        pellucid.set_num_threads(before)


def ordered_unique(elements: Iterable[Any]) -> list[Any]:
    """The elements without those that are there before, in order."""
    return list(dict.fromkeys(elements))


class Compare:
    """A table for each label: a row for each ``sub_label``, a column for each
    ``description``, by number of threads.
    """

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results = list(results)
        self._rounded = False
        self._colored: Colors = None

    def __str__(self) -> str:
        labels: dict[str, list[Measurement]] = {}
        for found in Measurement.merge(self._results):
            labels.setdefault(found.task_spec.label or "", []).append(found)
        return "\n\n".join(
            table(name, of, self._rounded, self._colored) for name, of in labels.items()
        )

    def print(self) -> None:
        """Prints the tables."""
        print(self)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Adds results."""
        self._results += results

    def trim_significant_figures(self) -> None:
        """Shows two digits of each time."""
        self._rounded = True

    def colorize(self, rowwise: bool = False) -> None:
        """Shows the best time of each column in green and those that take twice as long
        in red, by terminal codes; of each row if ``rowwise``.
        """
        self._colored = "rows" if rowwise else "columns"


_put_homes(globals(), __name__)
