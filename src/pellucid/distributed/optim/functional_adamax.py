"""PyTorch's path of ``_FunctionalAdamax``."""

from pellucid.distributed.optim.functional_optimizers import (
    _FunctionalAdamax as _FunctionalAdamax,
)

__all__: list[str] = []
