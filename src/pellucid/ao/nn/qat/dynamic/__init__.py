"""``torch.ao.nn.qat.dynamic``: for dynamically quantized layers."""

from __future__ import annotations

from pellucid.ao.nn import qat


class Linear(qat.Linear):
    """``nn.Linear`` with a rounded weight; becomes ``nn.quantized.dynamic.Linear``."""


__all__ = ["Linear"]
