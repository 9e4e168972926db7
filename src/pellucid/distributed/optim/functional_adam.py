"""PyTorch's path of ``_FunctionalAdam``."""

from pellucid.distributed.optim.functional_optimizers import (
    _FunctionalAdam as _FunctionalAdam,
)

__all__: list[str] = []
