"""What the system says that a process is doing."""

from __future__ import annotations

from pathlib import Path

__all__ = ["is_uninterruptible_state", "read_proc_state"]


def read_proc_state(pid: int) -> str | None:
    """The letter of its state, such as "R" or "S"; None if there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    _, bracket, rest = text.rpartition(")")  # the name before it may have brackets
    words = rest.split()
    return words[0] if bracket and words else None


def is_uninterruptible_state(state: str | None) -> bool:
    """Whether a process waits in the kernel, so that no signal ends it."""
    return state is not None and state.startswith("D")
