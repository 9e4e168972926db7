"""The event files of one run: the directory's own, and one for each shared chart."""

from __future__ import annotations

import os
import socket
from datetime import datetime
from types import TracebackType
from typing import Any, Self

from tensorboard.compat.proto.event_pb2 import Event, SessionLog

from pellucid.utils.tensorboard._embedding import Embeddings
from pellucid.utils.tensorboard._files import FileWriter

_FILE_VERSION = "brain.Event:2"


def _default_bins() -> list[float]:
    """Limits of histograms from -1e20 to 1e20, growing by a factor of 1.1."""
    limits, limit = [], 1e-12
    while limit < 1e20:
        limits.append(limit)
        limit *= 1.1
    return [*(-each for each in reversed(limits)), 0, *limits]


class RunFiles:
    """The files of a `SummaryWriter`; opened at first use, and reopened after
    ``close()``.
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            now = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir = log_dir
        self.purge_step = purge_step
        self.max_queue = max_queue
        self.flush_secs = flush_secs
        self.filename_suffix = filename_suffix
        self.default_bins = _default_bins()
        self._embeddings = Embeddings()
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[str, FileWriter] | None = None  # by directory
        self._get_file_writer()

    def _get_file_writer(self) -> FileWriter:
        """The writer for ``log_dir``; a new one, with a new file, after ``close()``."""
        if self.file_writer is None:
            self.file_writer = self._open(self.log_dir)
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
            if self.purge_step is not None:
                step, start = self.purge_step, SessionLog(status=SessionLog.START)
                event = Event(step=step, file_version=_FILE_VERSION)
                self.file_writer.add_event(event)
                self.file_writer.add_event(Event(step=step, session_log=start))
                self.purge_step = None
        return self.file_writer

    def _open(self, log_dir: str | os.PathLike[str]) -> FileWriter:
        return FileWriter(
            log_dir, self.max_queue, self.flush_secs, self.filename_suffix
        )

    def get_logdir(self) -> str | os.PathLike[str]:
        """The directory of the event files."""
        return self.log_dir

    def _add(
        self, message: Any, global_step: Any = None, walltime: float | None = None
    ) -> None:
        self._get_file_writer().add_summary(message, global_step, walltime)

    def flush(self) -> None:
        """Flushes queued events to the files."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """Closes the files. A later call opens new ones."""
        for writer in (self.all_writers or {}).values():
            writer.flush()
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        self.close()
