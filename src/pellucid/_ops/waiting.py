"""Kernels that libraries registered for ops that are not defined yet.

``_library/registration.py`` adds and installs them; ``torch.ops`` mentions them in the
error for an op that does not exist.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

# By full name, "mine::f.Tensor"; each kernel has its dispatch key.
KERNELS_WITHOUT_OP: defaultdict[str, list[Any]] = defaultdict(list)


def keys_waiting_for(op: str) -> list[str]:
    """The dispatch keys of the kernels for the overloads of ``op``, "mine::f"."""
    found = (
        k for name, k in KERNELS_WITHOUT_OP.items() if name.partition(".")[0] == op
    )
    return [kernel.key for kernels in found for kernel in kernels]
