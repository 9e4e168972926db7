"""``torch.distributed.autograd``: gradients through calls in other processes.

Inside a ``context``, tensors that require gradients and are sent or received in calls
of ``torch.distributed.rpc`` are recorded; ``backward`` then runs on all workers
involved, and each stores the gradients of its own leaves in the context, not in
``.grad``::

    with dist_autograd.context() as context_id:
        loss = rpc.rpc_sync("worker1", torch.mul, args=(a, b)).sum()
        dist_autograd.backward(context_id, [loss])
        gradients = dist_autograd.get_gradients(context_id)
"""

from __future__ import annotations

from collections.abc import Sequence

from pellucid import Tensor
from pellucid.distributed.rpc import gradients
from pellucid.distributed.rpc.gradients import Context as DistAutogradContext
from pellucid.distributed.rpc.gradients import find as _retrieve_context
from pellucid.distributed.rpc.gradients import new_context as _new_context
from pellucid.distributed.rpc.gradients import release as _release_context

__all__ = [
    "DistAutogradContext",
    "backward",
    "context",
    "get_gradients",
    "is_available",
]


def is_available() -> bool:
    """True."""
    return True


class context:
    """The scope of one forward and backward pass over several workers; its value is the
    number that ``backward`` and ``get_gradients`` take. At its end the gradients are
    released on all workers. RuntimeError before ``init_rpc``, and inside another
    context.
    """

    def __enter__(self) -> int:
        self._number = _new_context().number
        return self._number

    def __exit__(self, *error: object) -> None:
        _release_context(self._number)


def backward(
    context_id: int, roots: Sequence[Tensor], retain_graph: bool = False
) -> None:
    """Computes the gradients of all leaves on which `roots`, tensors of one element,
    depend through any worker. `retain_graph` keeps saved tensors for another pass.

    Raises errors of any worker here, also of a lost worker.
    """
    gradients.backward(context_id, roots, retain_graph)


def get_gradients(context_id: int) -> dict[Tensor, Tensor]:
    """This worker's leaves and gradients. RuntimeError if the context has ended."""
    return dict(_retrieve_context(context_id).gradients)
