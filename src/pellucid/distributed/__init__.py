"""Distributed training: not offered. What programs import is here and says so when it
is used, as PyTorch does where there is no group of processes.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, NoReturn


def is_available() -> bool:
    """False."""
    return False


def is_initialized() -> bool:
    """False."""
    return False


def init_process_group(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuses."""
    raise NotImplementedError(
        "Pellucid trains in one process; run without init_process_group"
    )


class ProcessGroup:
    """What no tensor is sent through."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        init_process_group()


class ReduceOp(enum.Enum):
    """How ``all_reduce`` would join tensors."""

    SUM = "sum"
    AVG = "avg"
    PRODUCT = "product"
    MIN = "min"
    MAX = "max"
    BAND = "band"
    BOR = "bor"
    BXOR = "bxor"


def _needs_group(name: str) -> Callable[..., NoReturn]:
    def refused(*args: Any, **kwargs: Any) -> NoReturn:
        raise ValueError(
            f"torch.distributed.{name}: there is no group of processes; Pellucid "
            "trains in one. Ask is_initialized() before, and leave the call out"
        )

    refused.__name__ = refused.__qualname__ = name
    refused.__doc__ = "Refuses: there is no group of processes."
    return refused


all_gather = _needs_group("all_gather")
all_gather_into_tensor = _needs_group("all_gather_into_tensor")
all_gather_object = _needs_group("all_gather_object")
all_reduce = _needs_group("all_reduce")
all_to_all = _needs_group("all_to_all")
barrier = _needs_group("barrier")
broadcast = _needs_group("broadcast")
broadcast_object_list = _needs_group("broadcast_object_list")
destroy_process_group = _needs_group("destroy_process_group")
gather = _needs_group("gather")
get_backend = _needs_group("get_backend")
get_rank = _needs_group("get_rank")
get_world_size = _needs_group("get_world_size")
irecv = _needs_group("irecv")
isend = _needs_group("isend")
new_group = _needs_group("new_group")
recv = _needs_group("recv")
reduce = _needs_group("reduce")
reduce_scatter = _needs_group("reduce_scatter")
scatter = _needs_group("scatter")
send = _needs_group("send")
