"""``torch.ao.nn.qat.dynamic``: for layers whose inputs are quantized when they come."""

from __future__ import annotations

from pellucid.ao.nn import qat


class Linear(qat.Linear):
    """``nn.Linear`` with a rounded weight; becomes ``nn.quantized.dynamic.Linear``."""


__all__ = ["Linear"]
