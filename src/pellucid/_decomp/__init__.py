"""What PyTorch's composites and their derivatives are made of: ``linear`` is ``addmm``.

Where ``__torch_dispatch__`` watches, composites run as these ops, above autograd, and
derivatives as the ops that PyTorch computes them by: policies and counters name those.
Elsewhere nothing of this runs. Which ops they are the declarations say
(``pellucid_compiler/declare/seen.py``). The runtime
(``runtime/python/dispatch_protocol.cpp``) imports this before the first tensor or mode
is watched. Read next: registry.py, derivatives.py.
"""

from __future__ import annotations

from typing import Any

from pellucid._decomp.derivatives import decompose_derivative as decompose_derivative
from pellucid._decomp.registry import decomposition_table as decomposition_table
from pellucid._decomp.registry import get_decompositions as get_decompositions
from pellucid._decomp.registry import install
from pellucid._decomp.registry import register_decomposition as register_decomposition

__all__ = [
    "core_aten_decompositions",
    "decomposition_table",
    "get_decompositions",
    "register_decomposition",
]


def core_aten_decompositions() -> dict[Any, Any]:
    """The table that gives Core ATen ops (``core_aten.py``)."""
    from pellucid._decomp import core_aten

    return core_aten.core_aten_decompositions()


install()
