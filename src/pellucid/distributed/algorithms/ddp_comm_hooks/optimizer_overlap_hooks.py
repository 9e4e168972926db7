"""A hook that updates a bucket's parameters when its gradients are reduced."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pellucid as torch

__all__: list[str] = []

Hook = Callable[[Any, Any], Any]


class _OptimizerHookState:
    """An optimizer in functional form (``as_functional_optim``), and the parameters
    that it updates: None for all.
    """

    def __init__(self, functional_optim: Any, params: Iterable[Any] | None = None):
        if not hasattr(functional_optim, "step_param"):
            raise ValueError(
                f"Class {type(functional_optim)} must implement method step_param."
            )
        self.functional_optimizer = functional_optim
        self.params_to_optimize = None if params is None else set(params)


def _hook_then_optimizer(hook: Hook, optimizer_state: _OptimizerHookState) -> Hook:
    """``hook``, then a step of the bucket's parameters."""
    optimizer, chosen = (
        optimizer_state.functional_optimizer,
        optimizer_state.params_to_optimize,
    )

    def run(state: Any, bucket: Any) -> Any:
        parameters = bucket.parameters()

        def step(future: Any) -> Any:
            result = future.value()
            bucket.set_buffer(result[0] if isinstance(result, list) else result)
            with torch.no_grad():
                for p, gradient in zip(parameters, bucket.gradients(), strict=True):
                    if chosen is None or p in chosen:
                        optimizer.step_param(p, gradient)
            return bucket.buffer()

        return hook(state, bucket).then(step)

    return run
