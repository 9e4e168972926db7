"""``get_log_level``: of the launcher's own logs."""

import os

__all__ = ["get_log_level"]


def get_log_level() -> str:
    """LOGLEVEL, or "WARNING"."""
    return os.environ.get("LOGLEVEL", "WARNING")
