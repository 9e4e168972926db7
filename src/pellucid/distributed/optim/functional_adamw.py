"""PyTorch's path of ``_FunctionalAdamW``."""

from pellucid.distributed.optim.functional_optimizers import (
    _FunctionalAdamW as _FunctionalAdamW,
)

__all__: list[str] = []
