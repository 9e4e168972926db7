"""``functional_call`` under its old name; use ``torch.func.functional_call``."""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager
from typing import Any

from pellucid.func import functional_call as _functional_call
from pellucid.func._modules import substituted as _substituted

__all__ = ["functional_call"]


def functional_call(
    module: Any,
    parameters_and_buffers: dict[str, Any],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """``module(*args, **kwargs)`` with substituted parameters and buffers."""
    warnings.warn(
        "nn.utils.stateless.functional_call is now torch.func.functional_call",
        FutureWarning,
        stacklevel=2,
    )
    return _functional_call(
        module,
        parameters_and_buffers,
        args,
        kwargs,
        tie_weights=tie_weights,
        strict=strict,
    )


def _reparametrize_module(
    module: Any,
    parameters_and_buffers: dict[str, Any],
    tie_weights: bool = False,
    strict: bool = False,
) -> AbstractContextManager[None]:
    """A scope in which the module has these parameters and buffers."""
    return _substituted(module, parameters_and_buffers, tie_weights, strict)
