"""``SubprocessHandler``: a command in a session of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from typing import IO, Any

from pellucid.distributed.elastic.multiprocessing.subprocess_handler._sessions import (
    die_with_parent,
)
from pellucid.numa.binding import bind_this_process, cpus_to_bind_to

__all__ = ["SubprocessHandler"]


class SubprocessHandler:
    """Starts ``entrypoint args...`` with the variables ``env`` added to those of this
    process. Streams with a path are written to it.
    """

    def __init__(
        self,
        entrypoint: str,
        args: tuple[Any, ...],
        env: dict[str, str],
        stdout: str | None,
        stderr: str | None,
        local_rank_id: int,
        numa_options: Any = None,
    ) -> None:
        self.local_rank_id = local_rank_id
        self._cpus = cpus_to_bind_to(local_rank_id, numa_options)
        with contextlib.ExitStack() as files:
            out, err = (
                files.enter_context(open(path, "wb")) if path else None
                for path in (stdout, stderr)
            )
            words = (entrypoint, *(str(each) for each in args))
            self.proc = self._popen(words, {**os.environ, **env}, out, err)

    def _popen(
        self,
        args: tuple[str, ...],
        env: dict[str, str],
        stdout: IO[bytes] | None,
        stderr: IO[bytes] | None,
    ) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            args,
            env=env,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
            preexec_fn=self._begin,
        )

    def _begin(self) -> None:
        """In the child, before the command."""
        die_with_parent()
        bind_this_process(self._cpus)

    def close(self, death_sig: signal.Signals | None = None) -> None:
        """Sends a signal, SIGTERM by default."""
        if self.proc.poll() is None:
            self.proc.send_signal(death_sig or signal.SIGTERM)
