"""``torch.distributed.optim``: the type that libraries ask optimizers for."""

from typing import Any, NoReturn

__all__ = ["ZeroRedundancyOptimizer"]


class ZeroRedundancyOptimizer:
    """An optimizer whose state is spread over processes: Pellucid trains in one."""

    def __init__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError("Pellucid trains in one process: use the optimizer")
