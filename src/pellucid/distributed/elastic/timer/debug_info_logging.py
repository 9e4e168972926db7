"""``log_debug_info_for_expired_timers``: what a server of timers says of a run."""

from __future__ import annotations

import logging

__all__ = ["log_debug_info_for_expired_timers"]

logger = logging.getLogger(__name__)


def log_debug_info_for_expired_timers(
    run_id: str, expired_timers: dict[int, list[str]]
) -> None:
    """Logs the timers that have expired, as JSON by pid."""
    if expired_timers:
        logger.info("run %s: expired timers: %s", run_id, expired_timers)
