"""``torch.ao``: of it, what libraries ask of ``quantization``."""

from pellucid.ao import quantization as quantization

__all__ = ["quantization"]
