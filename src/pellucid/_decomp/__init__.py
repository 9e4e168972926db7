"""Decompositions of PyTorch's composites and derivatives: ``linear`` is ``addmm``.

Under ``__torch_dispatch__``, composites run as these ops, above autograd, and
derivatives as PyTorch's ops for them, which policies and counters refer to. Otherwise
none of this runs. The declarations define the ops
(``pellucid_compiler/declare/seen.py``). The runtime
(``runtime/python/dispatch_protocol.cpp``) imports this before the first tensor or mode
is watched. Read next: registry.py, derivatives.py.
"""

from __future__ import annotations

from typing import Any

from pellucid._decomp.derivatives import decompose_derivative as decompose_derivative
from pellucid._decomp.registry import decomposition_table as decomposition_table
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


def get_decompositions(aten_ops: Any) -> dict[Any, Any]:
    """The decompositions of these ops, overloads or packets, by overload
    (``core_aten.py``).
    """
    from pellucid._decomp import core_aten

    return core_aten.get_decompositions(aten_ops)


install()
