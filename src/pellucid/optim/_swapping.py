"""Steps of an optimizer on temporarily swapped tensors. Exported by ``optim``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from typing import Any

from pellucid import Tensor
from pellucid.optim.optimizer import Optimizer

__all__ = ["swap_in_optimizer_params_and_state"]


@contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer,
    swapin_parameters: Mapping[str, Tensor],
    swapin_optim_state: Mapping[str, Any],
) -> Iterator[None]:
    """Within a ``with`` statement the optimizer uses these parameters, in the order of
    its own, and this state, arranged as by ``state_dict()``. Tensors of the state are
    written in place; values that a step assigns are lost. Afterwards the optimizer's
    own parameters and state are restored.
    """
    parameters = [*swapin_parameters.values()]
    groups = swapin_optim_state["param_groups"]
    numbers = [[*group["params"]] for group in groups]
    own = [len(group["params"]) for group in optimizer.param_groups]
    if not optimizer.state:
        raise RuntimeError(
            "the optimizer has no state yet: take a step before the swap"
        )
    if own != [*map(len, numbers)] or sum(own) != len(parameters):
        raise RuntimeError(
            f"{len(parameters)} parameters and a state whose groups have "
            f"{[*map(len, numbers)]} do not fit the optimizer, whose groups have {own}"
        )
    lent = dict(zip(chain.from_iterable(numbers), parameters, strict=True))
    state: defaultdict[Any, Any] = defaultdict(dict)
    for key, value in swapin_optim_state["state"].items():
        state[lent.get(key, key)] = dict(value) if isinstance(value, dict) else value
    before = optimizer.param_groups, optimizer.state
    optimizer.param_groups = [
        {**group, "params": [lent[number] for number in row]}
        for group, row in zip(groups, numbers, strict=True)
    ]
    optimizer.state = state
    try:
        yield
    finally:
        optimizer.param_groups, optimizer.state = before
