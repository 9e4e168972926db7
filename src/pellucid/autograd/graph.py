"""The backward graph as objects: nodes, edges, hooks on several gradients.

Nodes are C++ (``runtime/python/autograd/node.cpp``). Hooks on saved tensors are in
``saved_tensors.py`` and ``mutation.py``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple, NoReturn

from pellucid import _C
from pellucid._C import Node
from pellucid._tensor import Tensor
from pellucid.autograd.mutation import allow_mutation_on_saved_tensors
from pellucid.autograd.parts import part_of
from pellucid.autograd.saved_tensors import (
    disable_saved_tensors_hooks,
    save_on_cpu,
    saved_tensors_hooks,
)

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "region_activation_memory_budget",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
    "set_override_stale_capture_stream",
    "set_warn_on_accumulate_grad_stream_mismatch",
]


class InputMetadata(NamedTuple):
    """Shape, dtype and device of the gradient of one forward output."""

    shape: Any
    dtype: Any
    device: Any
    is_tensor_subclass: bool = False
    is_nested_tensor: bool = False


class GradientEdge(NamedTuple):
    """An edge of the graph: output `output_nr` of `node`.

    ``autograd.grad`` and ``autograd.backward`` accept it instead of the tensor, which
    then need not be stored.
    """

    node: Node
    output_nr: int


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """The edge that receives the gradient of `tensor`; for a leaf, AccumulateGrad.

    Raises RuntimeError when `tensor` does not require gradients.
    """
    return GradientEdge(*_C._gradient_edge(part_of(tensor)))


def increment_version(tensor: Any) -> None:
    """Bumps the version of `tensor`, or of several, after an in-place change."""
    several = [tensor] if isinstance(tensor, Tensor) else tensor
    if not isinstance(several, Iterable):
        raise RuntimeError(
            "increment_version takes a tensor or several, not a "
            f"{type(tensor).__name__}"
        )
    for changed in several:
        _C._increment_version(changed)


class _MultiHandle:
    """The handle that removes the hooks of one ``register_multi_grad_hook``."""

    def __init__(self, handles: Sequence[Any]) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        """Removes the hooks; a second call does nothing."""
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> _MultiHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


class _Arrivals:
    """The gradients of the hooked tensors so far, in one backward pass."""

    def __init__(self, nodes: Sequence[tuple[int, int]]) -> None:
        self.expected = _C._count_executing_nodes(nodes)
        self.gradients: list[Tensor | None] = [None] * len(nodes)


def register_multi_grad_hook(
    tensors: Sequence[Tensor],
    fn: Callable[..., None],
    *,
    mode: Literal["all", "any"] = "all",
) -> Any:
    """Calls `fn` once per backward pass that computes gradients of `tensors`.

    With ``mode="all"`` it calls ``fn(gradients)`` when the gradients of all tensors
    that the pass reaches are known, with None for the others; with ``mode="any"`` it
    calls ``fn(gradient)`` at the first of them. Returns a handle with ``remove()``.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"mode must be 'all' or 'any', not {mode!r}")
    lock = threading.Lock()
    if mode == "any":
        return _MultiHandle(_register_any(tensors, fn, lock))
    # Not the nodes themselves: they own the hooks, so this would be a cycle.
    nodes = [_C._node_identity(get_gradient_edge(t).node) for t in tensors]
    passes: dict[int, _Arrivals] = {}

    def hook_of(position: int) -> Callable[[Tensor], None]:
        def hook(gradient: Tensor) -> None:
            number = _C._current_graph_task_id()
            with lock:
                if number not in passes:
                    passes[number] = _Arrivals(nodes)
                    _C._queue_callback(lambda: passes.pop(number, None))
                arrived = passes[number]
                arrived.gradients[position] = gradient
                arrived.expected -= 1
                complete = arrived.expected == 0
                if complete:  # gradients live no longer than this call
                    found, arrived.gradients = arrived.gradients, [None] * len(nodes)
            if complete:
                fn(found)

        return hook

    return _MultiHandle([t.register_hook(hook_of(i)) for i, t in enumerate(tensors)])


def _register_any(
    tensors: Sequence[Tensor], fn: Callable[[Tensor], None], lock: threading.Lock
) -> list[Any]:
    served: set[int] = set()

    def hook(gradient: Tensor) -> None:
        number = _C._current_graph_task_id()
        with lock:
            if number in served:
                return
            served.add(number)
        _C._queue_callback(lambda: served.discard(number))
        fn(gradient)

    return [tensor.register_hook(hook) for tensor in tensors]


def region_activation_memory_budget(budget: float) -> NoReturn:
    """A compiled region's budget of memory for backward: raises, in eager mode.

    Raises TypeError or ValueError unless `budget` is a number in [0, 1], else
    RuntimeError: outside of ``torch.compile`` use ``utils.checkpoint``.
    """
    if isinstance(budget, bool) or not isinstance(budget, int | float):
        raise TypeError(
            "region_activation_memory_budget: the budget must be a number, not "
            f"{type(budget).__name__}"
        )
    if not 0.0 <= budget <= 1.0:
        raise ValueError(
            f"region_activation_memory_budget: the budget {budget} is not in [0, 1]"
        )
    raise RuntimeError(
        "region_activation_memory_budget concerns code inside torch.compile; in eager "
        "mode torch.utils.checkpoint chooses what is recomputed"
    )


def set_override_stale_capture_stream(enabled: bool) -> None:
    """For the capture of CUDA graphs: no effect on the CPU."""


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """For CUDA streams, which the CPU does not have: no effect."""
