"""Core ATen: PyTorch's small set of ops, which other compilers implement, and the table
that brings programs there.

A pointwise op outside of the set is the scalar ops that its traced function consists of
(``emitted.py``). What views, reduces or makes tensors has a
rule in ``core_rules.py``. Ops of several loops (recurrences, resampling) stay.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from pellucid._C._runtime.gradients import overload_of
from pellucid._decomp.emitted import run_elements
from pellucid._decomp.registry import declared
from pellucid._ops import OpOverload
from pellucid._ops.core import CORE

__all__ = ["core_aten_decompositions"]

_WHOLE = frozenset({"complex", "polar", "frexp.Tensor", "_box_muller", "_pin_memory"})
"""Pointwise ops that no others give."""


class _Trace(threading.local):
    """The ops that this thread is taking apart."""

    def __init__(self) -> None:
        self.running: set[OpOverload] = set()


_trace = _Trace()


class _Elements:
    """A pointwise op as the ops of its function."""

    def __init__(self, op: OpOverload, name: str) -> None:
        self.op, self.__name__ = op, name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        running = _trace.running
        if self.op in running:  # it is a scalar op itself
            return NotImplemented
        running.add(self.op)
        try:
            found = run_elements(declared(self.__name__), args, kwargs)
        finally:
            running.discard(self.op)
        if found is None:
            return NotImplemented
        return found[0] if len(found) == 1 else tuple(found)


def core_aten_decompositions() -> dict[Any, Callable[..., Any]]:
    """A table for ``make_fx``, ``aot_autograd`` and ``run_decompositions`` that gives
    Core ATen ops. Remove the rows of ops that are wanted whole.

    Example::

        table = core_aten_decompositions()
        del table[torch.ops.aten.silu.default]
        program.run_decompositions(table)
    """
    import pellucid_compiler.catalogue  # noqa: F401 - fills the registry
    from pellucid._decomp import core_rules
    from pellucid_compiler.declare import REGISTRY

    table: dict[Any, Callable[..., Any]] = {}
    for name, op in REGISTRY.items():
        if op.kind == "pointwise" and name not in CORE and name not in _WHOLE:
            overload = overload_of(name)
            table[overload] = _Elements(overload, name)
    table.update(core_rules.RULES)
    return table
