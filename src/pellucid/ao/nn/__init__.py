"""``torch.ao.nn``: layers of quantized models."""

from pellucid.ao.nn import intrinsic as intrinsic

__all__ = ["intrinsic"]
