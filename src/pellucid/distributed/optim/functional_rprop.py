"""PyTorch's path of ``_FunctionalRprop``."""

from pellucid.distributed.optim.functional_optimizers import (
    _FunctionalRprop as _FunctionalRprop,
)

__all__: list[str] = []
