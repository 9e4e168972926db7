"""Prints layers with packed weights on one line, like float layers."""

from __future__ import annotations

from pellucid import nn


class WithoutChildren(nn.Module):
    """Prints without children, which are packed weights."""

    def __repr__(self) -> str:
        return f"{self._get_name()}({self.extra_repr()})"
