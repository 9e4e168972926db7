"""Data parallelism: ``DataParallel``, on one device here, and distributed modules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pellucid.nn.modules.module import Module

if TYPE_CHECKING:
    from pellucid.nn.parallel.distributed import DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel"]


class DataParallel(Module):
    """Wraps ``module``, so that parameters have the names they have on several devices.

    ``device_ids`` and ``output_device`` name GPUs (not available).
    """

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        self.module, self.dim = module, dim
        self.device_ids: list[Any] = []
        self.output_device = output_device

    def forward(self, *inputs: Any, **options: Any) -> Any:
        """Calls ``module``."""
        return self.module(*inputs, **options)


def __getattr__(name: str) -> Any:
    """Imports ``DistributedDataParallel`` and its module at first use."""
    if name != "DistributedDataParallel":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pellucid.nn.parallel.distributed import DistributedDataParallel as found

    globals()[name] = found
    return found
