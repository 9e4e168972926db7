"""The text of a refused allocation: what was requested, what is live, who holds most.

Called by runtime/python/errors.cpp. Small requests fail only in tests, which walk
through every allocation: they get the plain text.
"""

from __future__ import annotations

import re
import time

from pellucid import _C

_LEAST = 1 << 20
_PAUSE = 10.0  # seconds: a program that tries again and again reads it once
_last = float("-inf")
_SHOWN = 4


def explain(text: str) -> str:
    """The error's text with the tensors that hold most, at most ten lines."""
    found = re.search(r"for (\d+) bytes", text)
    global _last
    if found is None or int(found.group(1)) < _LEAST:
        return text
    if time.monotonic() - _last < _PAUSE:
        return text
    _last = time.monotonic()
    from pellucid.memory._holders import paths_to
    from pellucid.memory._live import live_storages
    from pellucid.memory._peak import readable

    counts = _C._memory_statistics()
    live = counts["allocated_bytes"]
    cached = max(counts["reserved_bytes"] - live, 0)
    lines = [
        text.splitlines()[0],
        f"Live: {readable(live)}; cached and free: {readable(cached)}. Largest:",
    ]
    storages = sorted(live_storages().values(), key=lambda item: -item.nbytes)
    for storage in storages[:_SHOWN]:
        name = next(iter(paths_to(storage)), "held outside of Python's variables")
        lines.append(f"  {readable(storage.nbytes)} ({storage.role}) {name}"[:160])
    wanted = int(found.group(1))
    lines.append(_advice(wanted, live, sum(s.nbytes for s in storages if s.nodes)))
    return "\n".join(lines)


def _advice(wanted: int, live: int, saved: int) -> str:
    if saved > wanted:
        return (
            "The smallest change: a smaller batch, torch.no_grad() where no gradient "
            "is needed, or utils.checkpoint, which frees what is saved for backward."
        )
    if live < wanted // 4:
        return "The request alone is larger than what is free: compute it in parts."
    return "Everything computed so far is intact; free tensors or use smaller ones."
