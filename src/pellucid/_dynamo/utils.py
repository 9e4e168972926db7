"""``torch._dynamo.utils``: counters of what was compiled."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any, Final

# "frames": callables that were met; "stats": graphs that backends were given and their
# calls; "graph_break": reasons for which graphs ended before the callable did.
counters: Final[defaultdict[str, Counter[str]]] = defaultdict(Counter)


def is_compile_supported(device_type: Any) -> bool:
    """Whether callables on this device are recorded: on the CPU."""
    return str(device_type).partition(":")[0] == "cpu"
