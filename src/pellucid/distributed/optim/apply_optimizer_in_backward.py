"""PyTorch's path of the optimizers that run inside backward."""

from pellucid.distributed.optim.functional_optimizers import (
    _apply_optimizer_in_backward as _apply_optimizer_in_backward,
)
from pellucid.distributed.optim.functional_optimizers import (
    _get_in_backward_optimizers as _get_in_backward_optimizers,
)

__all__: list[str] = []
