"""What ``save`` and ``load`` share about how they are called, and call methods."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import pellucid.distributed as dist

_F = TypeVar("_F", bound=Callable[..., Any])


def accepts_storage_second(function: _F) -> _F:
    """Also accepts the storage as the second argument, where it once was."""
    parameters = inspect.signature(function).parameters
    name = next(name for name in parameters if name.startswith("storage_"))

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) != 2:
            return function(*args, **kwargs)
        warnings.warn(
            f"The argument order of {function.__name__} has been changed: pass the "
            f"storage as {name}=",
            stacklevel=2,
        )
        return function(args[0], **{name: args[1]}, **kwargs)

    return call  # type: ignore[return-value]


def warn_of_single_process(verb: str, no_dist: bool) -> bool:
    """Whether this process acts alone; warns if that was not requested."""
    if no_dist or dist.is_initialized():
        return no_dist
    warnings.warn(
        "torch.distributed is disabled, unavailable or uninitialized, assuming the "
        f"intent is to {verb} in a single process.",
        stacklevel=4,
    )
    return True


def given_rank(
    method: Callable[..., Any], rank: int, use_collectives: bool
) -> dict[str, Any]:
    """The rank, for a storage whose method takes ``**kwargs``."""
    if "kwargs" not in inspect.signature(method).parameters:
        return {}
    return {"rank": rank, "use_collectives": use_collectives}
