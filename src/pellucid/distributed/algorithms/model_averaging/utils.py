"""The mean of parameters over a group."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pellucid.distributed as dist

__all__ = [
    "average_parameters",
    "average_parameters_or_parameter_groups",
    "get_params_to_average",
]


def average_parameters(params: Iterable[Any], process_group: Any) -> None:
    """Replaces parameters by their mean over the group."""
    flat = [parameter.detach() for parameter in params]
    if flat and not dist._rank_not_in_group(process_group):
        dist.all_reduce_coalesced(flat, dist.ReduceOp.AVG, process_group)


def get_params_to_average(params: Iterable[Any]) -> list[Any]:
    """Of parameters, or of an optimizer's groups: those that have gradients."""
    found = []
    for each in params:
        if isinstance(each, dict):
            found += each["params"]
        else:
            found.append(each)
    return [parameter for parameter in found if parameter.grad is not None]


def average_parameters_or_parameter_groups(
    params: Iterable[Any], process_group: Any
) -> None:
    """``average_parameters`` of ``get_params_to_average``."""
    average_parameters(get_params_to_average(params), process_group)
