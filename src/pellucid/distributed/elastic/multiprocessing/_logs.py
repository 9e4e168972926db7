"""Where the output of started processes goes: files, the console, or both."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import weakref
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import IntFlag

__all__ = ["DefaultLogsSpecs", "LogsDest", "LogsSpecs", "Std", "to_map"]

_TEXT = re.compile(r"^(\d:[0123],)*(\d:[0123])$|^[0123]$")


class Std(IntFlag):
    """Streams of a process."""

    NONE = 0
    OUT = 1
    ERR = 2
    ALL = OUT | ERR

    @classmethod
    def from_str(cls, vm: str) -> Std | dict[int, Std]:
        """Of "3" for all processes, or of "0:1,1:3" by local rank."""
        if not _TEXT.match(vm):
            raise ValueError(f"{vm!r} should be as 3, or as 0:1,1:3 by local rank")
        if vm.isdigit():
            return cls(int(vm))
        pairs = (pair.split(":") for pair in vm.split(","))
        return {int(rank): cls(int(value)) for rank, value in pairs}


def to_map(val_or_map: Std | dict[int, Std], local_world_size: int) -> dict[int, Std]:
    """Streams by local rank; ranks that a dict lacks have none."""
    if isinstance(val_or_map, Std):
        return dict.fromkeys(range(local_world_size), val_or_map)
    return {rank: val_or_map.get(rank, Std.NONE) for rank in range(local_world_size)}


@dataclass
class LogsDest:
    """Paths by local rank. An empty path of a stream leaves it on the console."""

    stdouts: dict[int, str] = field(default_factory=dict)
    stderrs: dict[int, str] = field(default_factory=dict)
    tee_stdouts: dict[int, str] = field(default_factory=dict)
    tee_stderrs: dict[int, str] = field(default_factory=dict)
    error_files: dict[int, str] = field(default_factory=dict)
    filtered_stdout: str = ""
    filtered_stderr: str = ""


class LogsSpecs(ABC):
    """Decides the paths when processes start. ``redirects`` are written to files,
    ``tee`` to files and the console; ``local_ranks_filter`` are the ranks whose output
    the console shows.
    """

    def __init__(
        self,
        log_dir: str | None = None,
        redirects: Std | dict[int, Std] = Std.NONE,
        tee: Std | dict[int, Std] = Std.NONE,
        local_ranks_filter: set[int] | None = None,
    ) -> None:
        self._root_log_dir = log_dir
        self._redirects, self._tee = redirects, tee
        self._local_ranks_filter = local_ranks_filter

    @abstractmethod
    def reify(self, envs: dict[int, dict[str, str]]) -> LogsDest:
        """The paths for processes with these environments."""

    @property
    @abstractmethod
    def root_log_dir(self) -> str:
        """The folder of all logs."""


class DefaultLogsSpecs(LogsSpecs):
    """Files ``<log_dir>/<run id>_.../attempt_<n>/<local rank>/stdout.log``, deleted
    when processes start again as the same attempt. Without ``log_dir`` the folder is
    temporary, and deleted with this object.
    """

    def __init__(
        self,
        log_dir: str | None = None,
        redirects: Std | dict[int, Std] = Std.NONE,
        tee: Std | dict[int, Std] = Std.NONE,
        local_ranks_filter: set[int] | None = None,
    ) -> None:
        if log_dir is not None:
            os.makedirs(log_dir, exist_ok=True)
        super().__init__(log_dir, redirects, tee, local_ranks_filter)
        self._run_log_dir: str | None = None

    @property
    def root_log_dir(self) -> str:
        """The folder of all logs."""
        return str(self._root_log_dir)

    def _make_log_dir(self, log_dir: str | None, rdzv_run_id: str) -> str:
        if log_dir is None:
            log_dir = self._root_log_dir = tempfile.mkdtemp(prefix="torchelastic_")
            weakref.finalize(self, shutil.rmtree, log_dir, ignore_errors=True)
        return tempfile.mkdtemp(prefix=f"{rdzv_run_id}_", dir=log_dir)

    def reify(self, envs: dict[int, dict[str, str]]) -> LogsDest:
        """The paths for processes with these environments; their folders exist."""
        first = envs[0] if envs else {}
        if self._run_log_dir is None:
            run_id = first.get("TORCHELASTIC_RUN_ID", "test_run_id")
            self._run_log_dir = self._make_log_dir(self._root_log_dir, run_id)
        attempt = first.get("TORCHELASTIC_RESTART_COUNT", "0")
        folder = os.path.join(self._run_log_dir, f"attempt_{attempt}")
        shutil.rmtree(folder, ignore_errors=True)
        redirects = to_map(self._redirects, len(envs))
        tee = to_map(self._tee, len(envs))
        dest = LogsDest(
            filtered_stdout=os.path.join(folder, "filtered_stdout.log"),
            filtered_stderr=os.path.join(folder, "filtered_stderr.log"),
        )
        streams = (
            (Std.OUT, "stdout.log", dest.stdouts, dest.tee_stdouts),
            (Std.ERR, "stderr.log", dest.stderrs, dest.tee_stderrs),
        )
        for rank in envs:
            own = os.path.join(folder, str(rank))
            os.makedirs(own, exist_ok=True)
            dest.error_files[rank] = os.path.join(own, "error.json")
            is_shown = self._local_ranks_filter is None
            is_shown = is_shown or rank in (self._local_ranks_filter or ())
            for bit, name, files, tees in streams:
                path = os.path.join(own, name)
                is_teed = bool(tee[rank] & bit) and is_shown
                goes_to_file = (redirects[rank] | tee[rank]) & bit or not is_shown
                files[rank] = path if goes_to_file else ""
                if is_teed:
                    tees[rank] = path
        return dest

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DefaultLogsSpecs):
            return False
        return self._facts() == other._facts()

    def _facts(self) -> tuple[object, ...]:
        filter = self._local_ranks_filter
        return self._root_log_dir, self._redirects, self._tee, filter

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        names = ("root_log_dir", "redirects", "tee", "local_ranks_filter")
        pairs = zip(names, self._facts(), strict=True)
        return f"DefaultLogsSpecs({', '.join(f'{n}={v}' for n, v in pairs)})"
