"""``torch.distributed.autograd``: gradients through calls in other processes.

Inside of a ``context``, tensors that need gradients and leave or arrive in calls of
``torch.distributed.rpc`` are noted; ``backward`` then runs on all workers that took
part, and each keeps the gradients of its own leaves in the context, not in ``.grad``::

    with dist_autograd.context() as context_id:
        loss = rpc.rpc_sync("worker1", torch.mul, args=(a, b)).sum()
        dist_autograd.backward(context_id, [loss])
        gradients = dist_autograd.get_gradients(context_id)
"""

from __future__ import annotations

from collections.abc import Sequence

from pellucid import Tensor
from pellucid.distributed.rpc import gradients

__all__ = ["backward", "context", "get_gradients", "is_available"]


def is_available() -> bool:
    """True."""
    return True


class context:
    """The ``with`` block of one forward and backward pass over several workers; its
    value is the number that ``backward`` and ``get_gradients`` take. Where it ends, the
    gradients are forgotten on all workers. RuntimeError before ``init_rpc``, and inside
    of another context.
    """

    def __enter__(self) -> int:
        self._number = gradients.new_context().number
        return self._number

    def __exit__(self, *error: object) -> None:
        gradients.release(self._number)


def backward(
    context_id: int, roots: Sequence[Tensor], retain_graph: bool = False
) -> None:
    """Computes the gradients of all leaves that `roots`, tensors of one element, depend
    on through any worker. `retain_graph` keeps saved values for another pass.

    An error on any worker is raised here, a lost worker's too.
    """
    gradients.find(context_id)
    if not roots:
        raise RuntimeError("No tensors provided for gradient computation.")
    for root in roots:
        if not root.requires_grad:
            raise RuntimeError("requires_grad not set on root")
        if root.numel() != 1:
            raise RuntimeError(
                f"the root of shape {list(root.shape)} is not a scalar, all roots need "
                "to be scalar: reduce it first"
            )
    gradients.backward(context_id, roots, retain_graph)


def get_gradients(context_id: int) -> dict[Tensor, Tensor]:
    """This worker's leaves and their gradients. RuntimeError where the context has
    ended.
    """
    return dict(gradients.find(context_id).gradients)
