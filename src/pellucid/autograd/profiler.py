"""``torch.autograd.profiler``: the older names of ``torch.profiler``."""

from __future__ import annotations

from typing import Any

import pellucid.profiler
from pellucid.profiler.events import EventList, FunctionEvent
from pellucid.profiler.recording import record_function

__all__ = ["EventList", "FunctionEvent", "emit_nvtx", "profile", "record_function"]


class profile(pellucid.profiler.profile):
    """Records the ops that run while it is on, all of them if ``enabled``."""

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        record_shapes: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(record_shapes=record_shapes, **options)
        self.enabled = enabled

    def start(self) -> None:
        """Begin, if enabled."""
        if self.enabled:
            super().start()

    def table(self, sort_by: str | None = None, row_limit: int = 100) -> str:
        """The calls as a table."""
        return self.events().table(sort_by, row_limit)

    def total_average(self) -> Any:
        """All calls as one."""
        return self.events().total_average()


class emit_nvtx:
    """Marks ops for NVIDIA's profilers: refused, since ops run on the CPU."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        if enabled:
            raise NotImplementedError(
                "emit_nvtx needs CUDA: use torch.profiler.profile"
            )
