"""``TailLog``: copies what processes write to their files, line by line."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TextIO

__all__ = ["TailLog", "tail_logfile"]


def tail_logfile(
    header: str,
    file: str,
    dst: TextIO,
    finished: threading.Event,
    interval_sec: float,
    log_line_filter: Callable[[str], bool] | None = None,
) -> None:
    """Copies lines of ``file``, which may not exist yet, each after ``header``, until
    ``finished`` is set and the file has no more.
    """
    while not os.path.exists(file):
        if finished.wait(interval_sec) and not os.path.exists(file):
            return
    with open(file, errors="replace") as source:
        part = ""
        while True:
            is_last = finished.is_set()
            while piece := source.readline():
                part += piece
                if not part.endswith("\n"):
                    break  # its end is not yet written
                _write_line(header, part, dst, log_line_filter)
                part = ""
            if is_last:
                if part:
                    _write_line(header, part + "\n", dst, log_line_filter)
                return
            finished.wait(interval_sec)


def _write_line(
    header: str, line: str, dst: TextIO, log_line_filter: Callable[[str], bool] | None
) -> None:
    if log_line_filter is None or log_line_filter(line):
        dst.write(header + line)
        dst.flush()


class TailLog:
    """Copies the files of several processes to ``dst``, by a thread each. ``stop``
    returns when all is copied.
    """

    def __init__(
        self,
        name: str,
        log_files: dict[int, str],
        dst: TextIO,
        log_line_prefixes: dict[int, str] | None = None,
        interval_sec: float = 0.1,
        log_line_filter: Callable[[str], bool] | None = None,
    ) -> None:
        prefixes = log_line_prefixes or {}
        self._finished = threading.Event()
        self._threads = [
            threading.Thread(
                target=tail_logfile,
                args=(
                    prefixes.get(rank, f"[{name}{rank}]:"),
                    *(file, dst, self._finished, interval_sec, log_line_filter),
                ),
                daemon=True,
            )
            for rank, file in log_files.items()
        ]

    def start(self) -> TailLog:
        """Begins to copy."""
        for thread in self._threads:
            thread.start()
        return self

    def stop(self) -> None:
        """Copies the rest, and ends."""
        self._finished.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()

    def stopped(self) -> bool:
        """Whether ``stop`` was called."""
        return self._finished.is_set()
