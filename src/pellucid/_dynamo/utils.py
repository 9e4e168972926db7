"""``torch._dynamo.utils``: counters of compilations."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any, Final

# "frames": compiled callables; "stats": graphs passed to backends and their calls;
# "graph_break": reasons of graph breaks.
counters: Final[defaultdict[str, Counter[str]]] = defaultdict(Counter)


def is_compile_supported(device_type: Any) -> bool:
    """Whether callables on this device are compiled: only on the CPU."""
    return str(device_type).partition(":")[0] == "cpu"
