"""PyTorch's path of ``_FunctionalAdadelta``."""

from pellucid.distributed.optim.functional_optimizers import (
    _FunctionalAdadelta as _FunctionalAdadelta,
)

__all__: list[str] = []
