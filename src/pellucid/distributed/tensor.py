"""``torch.distributed.tensor``: the type that libraries ask tensors for."""

from typing import Any, NoReturn

__all__ = ["DTensor"]


class DTensor:
    """A tensor spread over processes, which no function makes yet."""

    def __init__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            "DTensor is not offered yet; use the collectives of torch.distributed, "
            "DistributedDataParallel or ZeroRedundancyOptimizer"
        )
