"""The agent of one machine: restarts ranks until they succeed or fail too often."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Sequence
from typing import Any, NoReturn

from pellucid.distributed._launch.config import LaunchConfig
from pellucid.distributed._launch.meeting import Meeting, Round, default_threads
from pellucid.distributed._launch.workers import (
    Workers,
    delete_folder,
    log_folder,
)
from pellucid.distributed.elastic.multiprocessing.errors import (
    ChildFailedError,
    ProcessFailure,
)


class SignalException(Exception):
    """The agent received a signal to end."""

    def __init__(self, number: int) -> None:
        super().__init__(f"the launcher got {signal.Signals(number).name}")
        self.sigval = number


def _raise_signal(number: int, frame: Any) -> NoReturn:
    raise SignalException(number)


def rank_environment(
    config: LaunchConfig, group: Round, local_rank: int, restarts: int
) -> dict[str, str]:
    """The environment variables that identify a process."""
    here = group.processes[group.node_rank]
    rank = str(group.first_rank + local_rank)
    size = str(group.world_size)
    return {
        "LOCAL_RANK": str(local_rank),
        "RANK": rank,
        "ROLE_RANK": rank,
        "GROUP_RANK": str(group.node_rank),
        "ROLE_NAME": config.role,
        "LOCAL_WORLD_SIZE": str(here),
        "WORLD_SIZE": size,
        "ROLE_WORLD_SIZE": size,
        "GROUP_WORLD_SIZE": str(len(group.processes)),
        "MASTER_ADDR": group.host,
        "MASTER_PORT": str(group.port),
        "TORCHELASTIC_RESTART_COUNT": str(restarts),
        "TORCHELASTIC_MAX_RESTARTS": str(config.max_restarts),
        "TORCHELASTIC_RUN_ID": config.run_id,
        "TORCHELASTIC_USE_AGENT_STORE": "True",
        "PELLUCID_LAUNCH_ROUND": str(group.number),
        **default_threads(here),
        **config.env,
    }


class Agent:
    """Runs ``command`` on every rank of this machine."""

    def __init__(self, config: LaunchConfig, command: Sequence[str]) -> None:
        self._config, self._command = config, command
        self._meeting = Meeting(config)
        self._folder, self._is_ours = log_folder(config.log_dir, config.run_id)

    def run(self) -> None:
        """Runs until all ranks have succeeded; raises ChildFailedError otherwise."""
        restarts = 0
        numbers = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
        previous = {number: signal.signal(number, _raise_signal) for number in numbers}
        try:
            while True:
                group = self._meeting.join()
                outcome = self._run_round(group, restarts)
                if outcome == "ended":
                    return
                restarts += outcome == "failed"
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)
            if self._is_ours:
                delete_folder(self._folder)

    def _run_round(self, group: Round, restarts: int) -> str:
        config = self._config
        ranks = range(group.processes[group.node_rank])
        environments = [rank_environment(config, group, r, restarts) for r in ranks]
        folder = os.path.join(self._folder, f"attempt_{restarts}")
        workers = Workers(
            *(self._command, environments, folder),
            *(config.redirects, config.tee, config.role),
        )
        try:
            outcome = self._watch(workers)
            if outcome == "ended":
                self._meeting.finish(len(group.processes))
            elif outcome == "failed":
                self._handle_failure(workers.failures(), restarts)
        finally:
            workers.stop()
        return outcome

    def _watch(self, workers: Workers) -> str:
        next_look = 0.0
        while True:
            codes = workers.poll()
            if any(codes):
                return "failed"
            if all(code == 0 for code in codes):
                return "ended"
            if time.monotonic() > next_look and (reason := self._meeting.ends()):
                if reason == "joined":
                    self._meeting.end_round("joined")
                return reason
            next_look = time.monotonic() + 0.5
            time.sleep(min(self._config.monitor_interval, 0.1))

    def _handle_failure(
        self, failures: dict[int, ProcessFailure], restarts: int
    ) -> None:
        for failure in failures.values():
            self._meeting.note_exit(failure.pid, failure.how())
        has_left = restarts >= self._config.max_restarts
        if has_left:
            time.sleep(0.3)  # other ranks' errors include how the rank ended
        self._meeting.end_round("failed")
        if has_left:
            name = os.path.basename(self._program())
            raise ChildFailedError(name, failures)
        for rank, failure in list(failures.items())[:1]:
            print(
                f"rank {rank} (pid {failure.pid}) has ended, {failure.how()}; "
                f"restart {restarts + 1} of {self._config.max_restarts}",
                file=sys.stderr,
            )

    def _program(self) -> str:
        words = [w for w in self._command[1:] if not w.startswith("-")]
        return words[0] if words else self._command[0]
