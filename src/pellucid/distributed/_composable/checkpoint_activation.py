"""``checkpoint``: a module whose activations are computed again in backward."""

from __future__ import annotations

from typing import Any

from pellucid import nn
from pellucid.distributed._composable.contract import contract
from pellucid.utils.checkpoint import checkpoint as recomputed

__all__: list[str] = []


@contract()
def checkpoint(module: nn.Module, **kwargs: Any) -> nn.Module:
    """Makes forward keep only its inputs, and backward run it again; options are those
    of ``torch.utils.checkpoint.checkpoint`` without reentry.
    """
    if kwargs.pop("use_reentrant", False):
        raise NotImplementedError(
            "use_reentrant=True is not supported in composable checkpoint. "
            "Please use torch.utils.checkpoint.checkpoint instead."
        )
    forward = module.forward

    def run(*args: Any, **named: Any) -> Any:
        return recomputed(forward, *args, use_reentrant=False, **named, **kwargs)

    module.forward = run  # type: ignore[method-assign]
    return module
