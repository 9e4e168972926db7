"""PyTorch's path of ``_FunctionalSGD``."""

from pellucid.distributed.optim.functional_optimizers import (
    _FunctionalSGD as _FunctionalSGD,
)

__all__: list[str] = []
