"""``ShardedOptimizer``: an optimizer of this process's parts of parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pellucid as torch
from pellucid import optim
from pellucid.distributed._shard.sharded_tensor import ShardedTensor


class ShardedOptimizer(optim.Optimizer):
    """``optimizer_class`` over the tensors of ``named_params`` and over the local parts
    of its ShardedTensors.

    Example::

        named = dict(named_params_with_sharded_tensor(model))
        optimizer = ShardedOptimizer(named, torch.optim.SGD, lr=0.1)
    """

    def __init__(
        self,
        named_params: Mapping[str, torch.Tensor | ShardedTensor],
        optimizer_class: Callable[..., optim.Optimizer],
        *optimizer_args: Any,
        **optimizer_kwargs: Any,
    ) -> None:
        tensors: list[torch.Tensor] = []
        for value in named_params.values():
            if isinstance(value, ShardedTensor):
                tensors += [shard.tensor for shard in value.local_shards()]
            else:
                tensors.append(value)
        self.named_params = named_params
        self._optim = optimizer_class(tensors, *optimizer_args, **optimizer_kwargs)
        self.param_groups = self._optim.param_groups
        self.state = self._optim.state

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clears the gradients of the parts."""
        self._optim.zero_grad(set_to_none)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step of the optimizer; returns what ``closure`` returns."""
        return self._optim.step(closure)

    def state_dict(self) -> dict[str, Any]:
        """Refused, as the states of other processes' parts are not known here."""
        raise NotImplementedError(
            "a ShardedOptimizer has no state_dict: read .state, or shard parameters as "
            "DTensors and use torch.distributed.checkpoint.state_dict"
        )

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Refused, like ``state_dict``."""
        raise NotImplementedError("a ShardedOptimizer has no state_dict to be loaded")

    def add_param_group(self, param_group: Any) -> None:
        """Refused: parameters are given by name, to the constructor."""
        raise NotImplementedError(
            "a ShardedOptimizer takes all parameters when it is made, by name"
        )
