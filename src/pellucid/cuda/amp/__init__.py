"""``torch.cuda.amp``: the older names of ``torch.amp`` for CUDA devices."""

from __future__ import annotations

from functools import partial

import pellucid
from pellucid import amp
from pellucid import dtype as DType
from pellucid._package.calls.deprecation import deprecated

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]

custom_fwd = partial(amp.custom_fwd, device_type="cuda")
custom_bwd = partial(amp.custom_bwd, device_type="cuda")


class autocast(amp.autocast):
    """``amp.autocast("cuda", ...)``."""

    def __init__(
        self,
        enabled: bool = True,
        dtype: DType = pellucid.float16,
        cache_enabled: bool = True,
    ) -> None:
        deprecated("cuda.amp.autocast", "amp.autocast('cuda', ...)", FutureWarning)
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    """``amp.GradScaler("cuda", ...)``."""

    def __init__(
        self,
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        deprecated("cuda.amp.GradScaler", "amp.GradScaler('cuda', ...)", FutureWarning)
        super().__init__(
            "cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled
        )
