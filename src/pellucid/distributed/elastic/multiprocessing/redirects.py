"""``redirect_stdout`` and ``redirect_stderr``: of the process, also output of C."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from functools import partial

__all__ = ["redirect", "redirect_stderr", "redirect_stdout"]


@contextlib.contextmanager
def redirect(std: str, to_file: str) -> Iterator[None]:
    """Inside the context, the stream "stdout" or "stderr" is written to a file."""
    if std not in ("stdout", "stderr"):
        raise ValueError(f"unknown standard stream <{std}>, must be stdout or stderr")
    stream = getattr(sys, std)
    number = stream.fileno()
    saved = os.dup(number)
    try:
        with open(to_file, "w+b") as file:
            stream.flush()
            os.dup2(file.fileno(), number)
            yield
    finally:
        stream.flush()
        os.dup2(saved, number)
        os.close(saved)


redirect_stdout = partial(redirect, "stdout")
redirect_stderr = partial(redirect, "stderr")
