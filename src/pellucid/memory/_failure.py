"""The error text of a failed allocation: the request, live memory, the largest holders.

Called by runtime/python/errors.cpp. Small requests only fail in tests that inject
failures into every allocation: they get the plain text. For a request much larger than
all live memory the holders are irrelevant. Finding holders visits all objects of the
program, with a time limit.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pellucid import _C

if TYPE_CHECKING:
    from pellucid.memory._live import LiveStorage

_LEAST = 1 << 20
_PAUSE = 10.0  # seconds: a program that retries gets the full text once
_last = float("-inf")
_SHOWN = 4
_PATIENCE = 2.0  # seconds after which the search for names stops


def explain(text: str) -> str:
    """The error's text with the tensors that hold most, at most ten lines."""
    found = re.search(r"for (\d+) bytes", text)
    global _last
    if found is None or int(found.group(1)) < _LEAST:
        return text
    if time.monotonic() - _last < _PAUSE:
        return text
    try:
        return _with_holders(text, int(found.group(1)))
    finally:
        _last = time.monotonic()


def _with_holders(text: str, wanted: int) -> str:
    from pellucid.memory._peak import readable

    start = time.monotonic()
    counts = _C._memory_statistics()
    live = counts["allocated_bytes"]
    cached = max(counts["reserved_bytes"] - live, 0)
    lines = [
        text.splitlines()[0],
        f"Live: {readable(live)}; cached and free: {readable(cached)}.",
    ]
    if live < wanted // 4:
        advice = "The request alone is larger than what is free: compute it in parts."
        return "\n".join([*lines, advice])
    from pellucid.memory._holders import names_for, paths_to
    from pellucid.memory._live import live_storages

    lines[-1] += " Largest:"
    storages = sorted(live_storages().values(), key=lambda item: -item.nbytes)
    largest = storages[:_SHOWN]
    names = names_for(largest)
    for storage in largest:
        name = "of unknown holder: the search took too long"
        if time.monotonic() - start < _PATIENCE:
            paths = paths_to(storage, names)
            name = next(iter(paths), "held outside of Python's variables")
        lines.append(f"  {readable(storage.nbytes)} ({storage.role}) {name}"[:160])
    lines.append(_advice(wanted, storages))
    return "\n".join(lines)


def _advice(wanted: int, storages: Sequence[LiveStorage]) -> str:
    """The least change after which the request fits in what is live now."""
    saved = [storage for storage in storages if storage.role == "saved"]
    nbytes = sum(storage.nbytes for storage in saved)
    if nbytes <= wanted:
        return "Everything computed so far is intact; free tensors or use smaller ones."
    rest = "utils.checkpoint frees what is saved for backward; no_grad() saves nothing."
    size = _batch_size(saved)
    # What is saved and the request shrink with the batch.
    fits = size * nbytes // (nbytes + wanted)
    if not 0 < fits < size:
        return f"The smallest change: a smaller batch. {rest}"
    return f"The smallest change: a batch of {fits} instead of {size}. {rest}"


def _batch_size(saved: Sequence[LiveStorage]) -> int:
    """The first size of the tensors that share most of the saved bytes; 0 if it is not
    that of most of them.
    """
    by_size: Counter[int] = Counter()
    for storage in saved:
        for size in {s.tensor.size(0) for s in storage.nodes if s.tensor.dim()}:
            by_size[size] += storage.nbytes
    size, nbytes = max(by_size.items(), key=lambda row: row[1], default=(0, 0))
    return size if nbytes > sum(storage.nbytes for storage in saved) / 2 else 0
