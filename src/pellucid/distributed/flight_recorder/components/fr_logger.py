"""``FlightRecorderLogger``: where the analysis of dumps prints."""

from __future__ import annotations

import logging
import sys
from typing import Any

__all__ = ["FlightRecorderLogger"]


class _Printed(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        sys.stdout.write(f"{record.getMessage()}\n")


class FlightRecorderLogger:
    """The one logger of the analysis, which prints its messages alone."""

    _logger: logging.Logger | None = None

    def __init__(self) -> None:
        kind = type(self)
        if kind._logger is None:
            kind._logger = logging.getLogger("Flight Recorder")
            kind._logger.propagate = False
            kind._logger.addHandler(_Printed())
            kind._logger.setLevel(logging.INFO)

    @property
    def logger(self) -> logging.Logger:
        """The logger of the standard library."""
        assert self._logger is not None
        return self._logger

    def set_log_level(self, level: int) -> None:
        """Prints messages from this level on."""
        self.logger.setLevel(level)

    def debug(self, msg: str, *args: Any) -> None:
        """Prints with ``--verbose``."""
        self.logger.debug(msg, *args)

    def info(self, msg: str, *args: Any) -> None:
        """Prints a result."""
        self.logger.info(msg, *args)

    def warning(self, msg: str, *args: Any) -> None:
        """Prints what makes results incomplete."""
        self.logger.warning(msg, *args)

    def error(self, msg: str, *args: Any) -> None:
        """Prints a mismatch."""
        self.logger.error(msg, *args)
