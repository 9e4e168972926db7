"""A run that is recorded: the timeline, the clocks of its thread, and what else the
rules read (``verdict.Facts``).

`Recording` starts and stops all of it; a very long run ends with `Full`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pellucid._compile.state import compilations
from pellucid.diagnose.batches import Batches
from pellucid.diagnose.held import (
    double_arrays,
    held_storages,
    holds_denormals,
    old_graphs,
)
from pellucid.diagnose.imports import Imports
from pellucid.diagnose.leaving import Leaving
from pellucid.diagnose.machine import machine
from pellucid.diagnose.run_delay import Clock
from pellucid.diagnose.samples import Samples
from pellucid.diagnose.sleeping import Sleeping
from pellucid.diagnose.training import Training
from pellucid.diagnose.verdict import WATCH, Facts, facts_of
from pellucid.profiler._timeline.costs import CostCounter
from pellucid.profiler._timeline.log import Log, Session

_COSTS = 2.0  # seconds in which costs are derived, the longest calls' first


class Full(BaseException):
    """Ends a program of which enough is recorded."""


class Recording:
    """A session that also reads the clocks of the thread; ``files``: the program's
    own. With ``leaving``, of a whole program, very many events end it: what it holds is
    looked up there, then it raises `Full`.
    """

    def __init__(
        self, files: Sequence[str] = (), leaving: Leaving | None = None
    ) -> None:
        machine()  # before the clock
        self._files, self._leaving = files, leaving
        self._facts: Facts | None = None
        self._costs = CostCounter(_COSTS)
        self._session = Session(WATCH)
        self._compilations = compilations()
        self._imports = Imports()
        self._training = Training()
        self._batches = Batches()
        self._sleeping = Sleeping()
        self._samples = Samples(None if leaving is None else self._end)

    def start(self) -> None:
        """Starts recording."""
        self._made = self._compilations.__enter__()
        self._imports.start()
        self._training.start()
        self._batches.start()
        self._sleeping.start()
        self._session.start()
        self._clock = Clock()
        self._samples.start()
        if self._leaving is not None:
            self._leaving.start()

    def _end(self) -> None:
        self.stop().is_part = True
        raise Full

    def stop(self) -> Facts:
        """What the rules need."""
        if self._facts is None:
            self._facts = self._stopped()
        return self._facts

    def _stopped(self) -> Facts:
        if self._leaving is not None:
            self._leaving.stop()
        self._samples.stop()
        _, without_core, asleep = self._clock.read()
        log = self._session.stop()
        self._imports.stop()
        self._compilations.__exit__(None, None, None)
        self._training.stop()
        self._batches.stop()
        self._sleeping.stop()
        settings = settings_now(self._files, self._made, log, self._training)
        settings |= {"padded": self._batches.padded, "rows": self._batches.rows}
        settings |= {"imports": self._imports, "samples": self._samples}
        idle = asleep, without_core
        return facts_of(log, self._costs, machine(), idle, settings)


def settings_now(
    files: Sequence[str], made: Sequence[Any], log: Log, training: Training
) -> dict[str, Any]:
    """How the program ran, besides its calls, and what it still holds; ``made``: its
    compiled callables.
    """
    import pellucid

    return {
        "anomaly": pellucid.is_anomaly_enabled(),
        "threads": pellucid.get_num_threads(),
        "files": list(files),
        "compilations": list(made),
        "memory": pellucid.memory.stats(),
        "held": held_storages(log),
        "graphs": old_graphs(log),
        "double_arrays": double_arrays(),
        "denormals": holds_denormals(),
        "untrained": training.untrained,
        "doubles": training.doubles,
        "optimizers": dict(training.made),
    }
