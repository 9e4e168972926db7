"""Handles that remove hooks, and the graph nodes that run full backward hooks.

Called by ``nn.Module`` and ``optim.Optimizer``. A boundary is an identity node of the
autograd graph around a module's inputs and one around its outputs: the node of the
outputs sees ``grad_output`` first, the node of the inputs sees ``grad_input`` last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, MutableMapping
from itertools import count
from typing import Any
from weakref import ref

from pellucid import Tensor, autograd

_Hooks = MutableMapping[int, Any]
_next_id = count()


class RemovableHandle:
    """A handle that removes one hook from the dicts that contain it."""

    def __init__(self, hooks: _Hooks, *, extra_dict: Any = None) -> None:
        self.id = next(_next_id)
        self._hooks: list[ref[_Hooks]] = [ref(hooks)]
        extras = extra_dict if isinstance(extra_dict, (list, tuple)) else [extra_dict]
        self._hooks += [ref(extra) for extra in extras if extra is not None]

    def remove(self) -> None:
        """Removes the hook; a second call does nothing."""
        for reference in self._hooks:
            hooks = reference()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()

    def __getstate__(self) -> tuple[list[_Hooks | None], int]:
        return [reference() for reference in self._hooks], self.id

    def __setstate__(self, state: tuple[list[_Hooks | None], int]) -> None:
        from collections import OrderedDict

        hooks, self.id = state
        self._hooks = [ref(OrderedDict() if h is None else h) for h in hooks]
        while next(_next_id) < self.id:
            pass


class _Identity(autograd.Function):
    """The identity, as a node."""

    @staticmethod
    def forward(context: Any, *tensors: Tensor) -> tuple[Tensor, ...]:
        constants = [tensor for tensor in tensors if not tensor.requires_grad]
        context.mark_non_differentiable(*constants)
        return tensors

    @staticmethod
    def backward(context: Any, *grads: Tensor) -> tuple[Tensor, ...]:
        return grads


def _behind_identity(
    arguments: tuple[Any, ...],
) -> tuple[tuple[Any, ...], list[int] | None, Any]:
    """The arguments after an identity node, the indices of tensors, and the node."""
    places = [i for i, value in enumerate(arguments) if isinstance(value, Tensor)]
    if not any(arguments[i].requires_grad for i in places):
        return arguments, None, None
    with autograd.set_grad_enabled(True):
        passed = _Identity.apply(*(arguments[i] for i in places))
    nodes = [tensor.grad_fn for tensor in passed if tensor.grad_fn is not None]
    if not nodes:
        raise RuntimeError("a backward hook was set, but no input requires a gradient")
    result = list(arguments)
    for place, tensor in zip(places, passed, strict=True):
        result[place] = tensor
    return tuple(result), places, nodes[0]


def _spread(places: list[int], grads: Iterable[Any], length: int) -> tuple[Any, ...]:
    result: list[Any] = [None] * length
    for place, grad in zip(places, grads, strict=True):
        result[place] = grad
    return tuple(result)


class BackwardHook:
    """Runs a module's full backward hooks during one backward pass.

    ``user_hooks(module, grad_input, grad_output)`` may return a new ``grad_input``;
    ``user_pre_hooks(module, grad_output)`` a new ``grad_output``.
    """

    def __init__(
        self,
        module: Any,
        user_hooks: list[Callable[..., Any]],
        user_pre_hooks: list[Callable[..., Any]],
    ) -> None:
        self.module = module
        self.user_hooks = user_hooks
        self.user_pre_hooks = user_pre_hooks
        self._grad_outputs: tuple[Any, ...] | None = None
        self._input_places: list[int] | None = None
        self._input_count = -1

    def setup_input_hook(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Passes the inputs through a node whose gradients are passed to
        ``user_hooks``.
        """
        passed, places, node = _behind_identity(args)
        self._input_places, self._input_count = places, len(args)
        if node is not None:
            node.register_hook(self._on_grad_input)
        return passed

    def setup_output_hook(self, output: Any) -> Any:
        """Passes the outputs through a node whose gradients are passed to
        ``user_pre_hooks``."""
        single = not isinstance(output, tuple)
        outputs = (output,) if single else output
        passed, places, node = _behind_identity(outputs)
        if node is not None and places is not None:

            def on_grad_output(grads: tuple[Any, ...]) -> tuple[Any, ...] | None:
                return self._on_grad_output(places, grads, len(outputs))

            node.register_prehook(on_grad_output)
        return passed[0] if single else passed

    def _on_grad_input(
        self, grads: tuple[Any, ...], _: tuple[Any, ...]
    ) -> tuple[Any, ...] | None:
        if self._grad_outputs is None:  # the outputs took no part in this pass
            return None
        places = self._input_places
        assert places is not None
        grad_input = _spread(places, grads, self._input_count)
        grad_input = self._run_user_hooks(grad_input)
        self._grad_outputs = None
        return tuple(grad_input[place] for place in places)

    def _on_grad_output(
        self, places: list[int], grads: tuple[Any, ...], length: int
    ) -> tuple[Any, ...] | None:
        grad_output = _spread(places, grads, length)
        for hook in self.user_pre_hooks:
            changed = hook(self.module, grad_output)
            if changed is not None:
                grad_output = _checked(changed, length, "grad_output", hook)
        self._grad_outputs = grad_output
        if self._input_places is None:  # no input needs a gradient: this is the end
            self._run_user_hooks((None,) * max(self._input_count, 0))
            self._grad_outputs = None
        return tuple(grad_output[place] for place in places)

    def _run_user_hooks(self, grad_input: tuple[Any, ...]) -> tuple[Any, ...]:
        for hook in self.user_hooks:
            changed = hook(self.module, grad_input, self._grad_outputs)
            if changed is None:
                continue
            if self._input_places is None:
                raise RuntimeError(
                    "a backward hook returned a new grad_input, but no input of "
                    f"{type(self.module).__name__} requires a gradient; return None"
                )
            grad_input = _checked(changed, len(grad_input), "grad_input", hook)
        return grad_input


def _checked(
    value: Any, length: int, what: str, hook: Callable[..., Any]
) -> tuple[Any, ...]:
    result = value if isinstance(value, tuple) else (value,)
    if len(result) != length:
        name = getattr(hook, "__name__", type(hook).__name__)
        raise RuntimeError(
            f"backward hook {name} returned {len(result)} values for {what}, "
            f"which has {length}"
        )
    return result
