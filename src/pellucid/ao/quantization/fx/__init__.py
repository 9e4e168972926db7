"""``torch.ao.quantization.fx``: the steps of ``quantize_fx``."""

from __future__ import annotations
