"""The ranks of one machine: started in their own sessions, monitored, ended by pid."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from typing import IO, Any

from pellucid.distributed.elastic.multiprocessing.errors import ProcessFailure

_SET_DEATH_SIGNAL = 1  # prctl's PR_SET_PDEATHSIG
OUT, ERR = 1, 2
_GRACE = 5.0  # seconds between SIGTERM and SIGKILL


def _die_with_parent() -> None:
    """In the child: requests SIGKILL when the agent ends in any way."""
    ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)


class Workers:
    """Starts the ranks. ``environments``: each rank's variables, by local rank."""

    def __init__(
        self,
        command: Sequence[str],
        environments: list[dict[str, str]],
        folder: str,
        redirects: dict[int, int],
        tee: dict[int, int],
        role: str,
    ) -> None:
        self._folder, self._environments = folder, environments
        self._pumps: list[threading.Thread] = []
        self._files: list[IO[bytes]] = []
        self._processes: list[subprocess.Popen[bytes]] = []
        for local_rank, environment in enumerate(environments):
            streams = {
                name: self._stream(bit, name, local_rank, redirects, tee)
                for bit, name in ((OUT, "stdout"), (ERR, "stderr"))
            }
            process = subprocess.Popen(
                list(command),
                env={
                    **os.environ,
                    **environment,
                    "TORCHELASTIC_ERROR_FILE": self._error_file(local_rank),
                },
                start_new_session=True,
                preexec_fn=_die_with_parent,
                **streams,
            )
            self._processes.append(process)
            self._pump(process, local_rank, tee, role)

    def _error_file(self, local_rank: int) -> str:
        path = os.path.join(self._folder, str(local_rank))
        os.makedirs(path, exist_ok=True)
        return os.path.join(path, "error.json")

    def _stream(
        self,
        bit: int,
        name: str,
        local_rank: int,
        redirects: dict[int, int],
        tee: dict[int, int],
    ) -> Any:
        if tee.get(local_rank, 0) & bit:
            return subprocess.PIPE
        if not redirects.get(local_rank, 0) & bit:
            return None
        path = os.path.join(self._folder, str(local_rank), f"{name}.log")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        file = open(path, "wb")  # noqa: SIM115 - the process writes it
        self._files.append(file)
        return file

    def _pump(
        self,
        process: subprocess.Popen[bytes],
        local_rank: int,
        tee: dict[int, int],
        role: str,
    ) -> None:
        """Copies teed streams to a file, and to this one with the prefix
        "[default0]:".
        """
        pairs = ((process.stdout, sys.stdout), (process.stderr, sys.stderr))
        names = ("stdout", "stderr")
        for (source, target), name in zip(pairs, names, strict=True):
            if source is None:
                continue
            path = os.path.join(self._folder, str(local_rank), f"{name}.log")
            thread = threading.Thread(
                target=_copy_lines,
                args=(source, path, target, f"[{role}{local_rank}]:"),
                daemon=True,
            )
            thread.start()
            self._pumps.append(thread)

    def poll(self) -> list[int | None]:
        """Exit codes by local rank; None if running."""
        return [process.poll() for process in self._processes]

    def failures(self) -> dict[int, ProcessFailure]:
        """The failures so far by rank, in order of time."""
        found = {}
        for local_rank, process in enumerate(self._processes):
            code, file = process.poll(), self._error_file(local_rank)
            if code is None and os.path.exists(file):  # it has failed
                with contextlib.suppress(subprocess.TimeoutExpired):
                    code = process.wait(_GRACE)
            if code:
                rank = int(self._environments[local_rank]["RANK"])
                found[rank] = ProcessFailure(local_rank, process.pid, code, file)
        return dict(sorted(found.items(), key=lambda pair: pair[1].timestamp))

    def stop(self, grace: float = _GRACE) -> None:
        """Sends SIGTERM, then SIGKILL to the sessions of ranks that do not end in
        time.
        """
        running = [p for p in self._processes if p.poll() is None]
        for process in running:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
        end = time.monotonic() + grace
        for process in running:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, end - time.monotonic()))
        for process in self._processes:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for thread in self._pumps:
            thread.join(1)
        for file in self._files:
            file.close()


def _copy_lines(source: IO[bytes], path: str, target: IO[str], prefix: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file, source:
        for line in source:
            file.write(line)
            file.flush()
            target.write(prefix + line.decode(errors="replace"))
            target.flush()


def log_folder(given: str | None, run_id: str) -> tuple[str, bool]:
    """The folder of logs, and whether the agent must delete it."""
    if given:
        path = os.path.join(given, f"{run_id}_{os.getpid()}")
        os.makedirs(path, exist_ok=True)
        return path, False
    return tempfile.mkdtemp(prefix="pellucid_launch_"), True


def delete_folder(path: str) -> None:
    """Deletes a folder and its contents."""
    shutil.rmtree(path, ignore_errors=True)
