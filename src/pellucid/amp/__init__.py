"""Mixed precision: regions that compute products in half precision, loss scaling.

``with torch.autocast("cpu"):`` computes products in bfloat16 and numerically sensitive
ops in float32. Read next: autocast_mode.py, grad_scaler.py.
"""

from pellucid.amp.autocast_mode import autocast as autocast
from pellucid.amp.autocast_mode import custom_bwd as custom_bwd
from pellucid.amp.autocast_mode import custom_fwd as custom_fwd
from pellucid.amp.autocast_mode import is_autocast_available as is_autocast_available
from pellucid.amp.grad_scaler import GradScaler as GradScaler

__all__ = [
    "GradScaler",
    "autocast",
    "custom_bwd",
    "custom_fwd",
    "is_autocast_available",
]
