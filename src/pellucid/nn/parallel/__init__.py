"""Modules on several devices: one device here, so a call is the module's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pellucid.nn.modules.module import Module

if TYPE_CHECKING:
    from pellucid.nn.parallel.distributed import DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel"]


class DataParallel(Module):
    """``module`` under the name that its parameters have with several devices.

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
        """What ``module`` gives."""
        return self.module(*inputs, **options)


def __getattr__(name: str) -> Any:
    """What needs processes is imported when it is first used."""
    if name != "DistributedDataParallel":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pellucid.nn.parallel.distributed import DistributedDataParallel as found

    globals()[name] = found
    return found
