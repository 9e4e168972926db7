"""``get_logger``: a logger at the level in LOGLEVEL."""

from __future__ import annotations

import inspect
import logging

from pellucid.distributed.elastic.utils.log_level import get_log_level

__all__ = ["get_logger"]


def get_logger(name: str | None = None) -> logging.Logger:
    """The logger of a name, by default the calling module's."""
    if name is None:
        frame = inspect.currentframe()
        caller = frame.f_back if frame else None
        name = str(caller.f_globals.get("__name__")) if caller else None
    logger = logging.getLogger(name)
    logger.setLevel(get_log_level())
    return logger
