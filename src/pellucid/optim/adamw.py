"""``AdamW`` under the module name that PyTorch gives it."""

from pellucid.optim.adam import AdamW

__all__ = ["AdamW"]
