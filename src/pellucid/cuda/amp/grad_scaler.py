"""``torch.cuda.amp.grad_scaler``: the scaler of ``torch.cuda.amp``."""

from pellucid.amp.grad_scaler import OptState as OptState
from pellucid.cuda.amp import GradScaler as GradScaler

__all__ = ["GradScaler", "OptState"]
