"""``CustomDecompTable``: the decompositions that ``run_decompositions`` applies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["CustomDecompTable", "default_decompositions"]


class CustomDecompTable(dict[Any, Callable[..., Any]]):
    """Functions by the op that they replace; entries may be removed and added."""

    def copy(self) -> CustomDecompTable:
        """Another table with the same entries."""
        return CustomDecompTable(self)

    def materialize(self) -> dict[Any, Callable[..., Any]]:
        """The entries as a plain dict."""
        return dict(self)


def default_decompositions() -> CustomDecompTable:
    """A table that decomposes into Core ATen ops; entries may be removed and added.

    Example::

        table = default_decompositions()
        del table[torch.ops.aten.linear.default]  # stays as it is
        core = program.run_decompositions(table)
    """
    from pellucid._decomp import core_aten_decompositions

    return CustomDecompTable(core_aten_decompositions())
