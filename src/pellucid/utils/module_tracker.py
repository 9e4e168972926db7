"""``torch.utils.module_tracker``: tracks the running modules, forward and backward.

    with ModuleTracker() as tracker:
        model(x).sum().backward()    # ask tracker.parents in hooks and modes

Forward is tracked by global module hooks, backward by hooks on the gradients of the
modules' arguments and results.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from pellucid import _C
from pellucid._tensor import Tensor
from pellucid.autograd.graph import register_multi_grad_hook
from pellucid.nn.modules._module_path import ModuleScope
from pellucid.utils._pytree import tree_leaves

__all__ = ["ModuleTracker"]

_logger = logging.getLogger(__name__)


class ModuleTracker(ModuleScope):
    """A scope in which ``parents`` are the names of the modules that run.

    A name is the class of the outermost called module and the path from it,
    ``Net.layers.0``; ``"Global"`` is always included. ``is_bw`` is whether a backward
    pass runs. In it a module runs from the gradients of its results to those of its
    arguments; a module whose arguments need no gradient runs until the pass ends. A
    module that runs inside itself, as when a checkpoint reruns it, is logged at level
    INFO.

    Example::

        >>> class Print(TorchDispatchMode):
        ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        ...         print(func, sorted(tracker.parents))
        ...         return func(*args, **(kwargs or {}))
        >>> with ModuleTracker() as tracker, Print():
        ...     model(x)
    """

    def __init__(self) -> None:
        super().__init__()
        self.parents: set[str] = {"Global"}
        self._entered: set[str] = set()  # by the backward pass
        self._end_of_pass: Callable[[], Any] = lambda: None  # alive while it runs

    def __exit__(self, *args: object) -> None:
        super().__exit__(*args)
        self._drop_pass()
        self.parents = {"Global"}

    @property
    def is_bw(self) -> bool:
        """Whether a backward pass runs in this thread."""
        return bool(_C._current_graph_task_id() != -1)

    def _enter_module(self, module: Any, inputs: Any) -> None:
        name = self._names.name_of(module)
        self._enter(name)
        self._at_gradients(inputs, lambda _: self._leave(name))

    def _leave_module(self, module: Any, inputs: Any, output: Any) -> None:
        name = self._names.name_of(module)
        self._leave(name)
        self._at_gradients(output, lambda _: self._enter_backward(name))

    def _enter(self, name: str) -> None:
        if name in self.parents:
            _logger.info("%s is called inside of itself", name)
        self.parents.add(name)

    def _enter_backward(self, name: str) -> None:
        if self.is_bw and self._end_of_pass() is None:
            self._drop_pass()  # of one that failed

            def end() -> None:
                self._forget()

            _C._queue_callback(end)
            self._end_of_pass = weakref.ref(end)
        self._entered.add(name)
        self.parents.add(name)

    def _leave(self, name: str) -> None:
        self.parents.discard(name)

    def _forget(self) -> None:
        """A pass has ended."""
        self._drop_pass()

    def _drop_pass(self) -> None:
        """Forgets what a pass has entered."""
        self.parents = self.parents - self._entered
        self._entered.clear()

    def _at_gradients(
        self, values: Any, then: Callable[[Sequence[Tensor | None]], None]
    ) -> None:
        """Calls ``then`` in backward when the gradients of all tensors are computed."""
        tensors = [t for t in tree_leaves(values) if isinstance(t, Tensor)]
        wanted = [t for t in tensors if t.requires_grad]
        if wanted:
            self._hooks.append(register_multi_grad_hook(wanted, then))
