"""How layers print whose weights are packed: on one line, as float layers do."""

from __future__ import annotations

from pellucid import nn


class WithoutChildren(nn.Module):
    """Prints without children: they hold packed weights."""

    def __repr__(self) -> str:
        return f"{self._get_name()}({self.extra_repr()})"
