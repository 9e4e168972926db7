"""``torch.cuda.amp.autocast_mode``: the names of ``torch.cuda.amp`` that it has."""

from pellucid.cuda.amp import autocast as autocast
from pellucid.cuda.amp import custom_bwd as custom_bwd
from pellucid.cuda.amp import custom_fwd as custom_fwd

__all__ = ["autocast", "custom_bwd", "custom_fwd"]
