"""``torch.cpu.amp``: older names of ``torch.amp`` for the CPU."""

from __future__ import annotations

import pellucid
from pellucid import amp
from pellucid import dtype as DType
from pellucid._package.calls.deprecation import deprecated

__all__ = ["GradScaler", "autocast"]


class autocast(amp.autocast):
    """``amp.autocast("cpu", ...)``."""

    def __init__(
        self,
        enabled: bool = True,
        dtype: DType = pellucid.bfloat16,
        cache_enabled: bool = True,
    ) -> None:
        deprecated("cpu.amp.autocast", "amp.autocast('cpu', ...)", FutureWarning)
        super().__init__("cpu", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    """``amp.GradScaler("cpu", ...)``."""

    def __init__(
        self,
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        deprecated("cpu.amp.GradScaler", "amp.GradScaler('cpu', ...)", FutureWarning)
        super().__init__(
            "cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled
        )
