"""The kinds of quantization, by which custom modules are configured."""

from __future__ import annotations

import enum

__all__ = ["QuantType"]


class QuantType(enum.IntEnum):
    """When activations and weights are quantized."""

    DYNAMIC = 0
    STATIC = 1
    QAT = 2
    WEIGHT_ONLY = 3

    @property
    def key(self) -> str:
        """Its name in dictionaries: ``"static"``."""
        return self.name.lower()

    @classmethod
    def of_key(cls, key: str) -> QuantType:
        """The member with this name."""
        for member in cls:
            if member.key == key:
                return member
        names = ", ".join(member.key for member in cls)
        raise ValueError(f"no quantization type is called {key!r}: give one of {names}")
