"""``DistributedOptimizer``: one optimizer on every worker that owns parameters."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from pellucid.distributed import rpc
from pellucid.distributed.autograd import get_gradients
from pellucid.distributed.rpc.references import RRef

_one_at_a_time = threading.Lock()  # contexts share the parameters' `.grad`


class _LocalOptimizer:
    def __init__(
        self, optimizer_class: Any, parameters: list[RRef], args: Any, kwargs: Any
    ) -> None:
        self._parameters = [reference.local_value() for reference in parameters]
        self._optimizer = optimizer_class(self._parameters, *args, **kwargs)

    def step(self, context_id: int) -> None:
        found = get_gradients(context_id)
        with _one_at_a_time:
            for parameter in self._parameters:
                parameter.grad = found.get(parameter)
            self._optimizer.step()
            for parameter in self._parameters:
                parameter.grad = None


def _step(optimizer: RRef, context_id: int) -> None:
    optimizer.local_value().step(context_id)


class DistributedOptimizer:
    """One `optimizer_class` on each worker that owns some of the parameters, which are
    given as RRefs; further arguments are passed to the optimizer.

    Example: ``DistributedOptimizer(torch.optim.SGD, references, lr=0.05)``, then
    ``step(context_id)`` after ``dist_autograd.backward``.
    """

    def __init__(
        self,
        optimizer_class: Any,
        params_rref: Sequence[RRef],
        *args: Any,
        **kwargs: Any,
    ) -> None:
        by_owner: dict[rpc.WorkerInfo, list[RRef]] = {}
        for reference in params_rref:
            by_owner.setdefault(reference.owner(), []).append(reference)
        made = {
            owner: rpc.remote(
                owner, _LocalOptimizer, args=(optimizer_class, references, args, kwargs)
            )
            for owner, references in by_owner.items()
        }
        for reference in made.values():
            reference.confirm()
        self.remote_optimizers = list(made.values())

    def step(self, context_id: int) -> None:
        """One step on all workers, with the gradients of the context."""
        steps = [
            rpc.rpc_async(reference.owner(), _step, args=(reference, context_id))
            for reference in self.remote_optimizers
        ]
        for step in steps:
            step.wait()
