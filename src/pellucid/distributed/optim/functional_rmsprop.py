"""PyTorch's path of ``_FunctionalRMSprop``."""

from pellucid.distributed.optim.functional_optimizers import (
    _FunctionalRMSprop as _FunctionalRMSprop,
)

__all__: list[str] = []
