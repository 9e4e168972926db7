"""``DataParallel``: a batch in parts on several devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pellucid.nn.modules.module import Module
from pellucid.nn.parallel.parallel_apply import parallel_apply
from pellucid.nn.parallel.replicate import replicate
from pellucid.nn.parallel.scatter_gather import gather, scatter_kwargs

__all__ = ["DataParallel", "data_parallel"]


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


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[Any] | None = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """``module(*inputs)``, each of ``device_ids`` computing a part of the batch; the
    results are joined on ``output_device``, or the first of them. Without devices the
    call is the module's own.
    """
    given = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    named = module_kwargs or {}
    if not device_ids:
        return module(*given, **named)
    positional, keywords = scatter_kwargs(given, named, device_ids, dim)
    used = device_ids[: max(len(positional), 1)]
    if len(used) == 1:
        return module(*(positional or ((),))[0], **(keywords or ({},))[0])
    results = parallel_apply(replicate(module, used), positional, keywords, used)
    return gather(results, used[0] if output_device is None else output_device, dim)
