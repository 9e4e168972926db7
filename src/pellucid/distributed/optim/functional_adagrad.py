"""PyTorch's path of ``_FunctionalAdagrad``."""

from pellucid.distributed.optim.functional_optimizers import (
    _FunctionalAdagrad as _FunctionalAdagrad,
)

__all__: list[str] = []
