"""Traces of calls, for libraries that count operations: ``jit._get_trace_graph``.

A dispatch mode above the composites sees each op that a program calls, once, as
PyTorch's tracer does. Read next: ``_graph.py``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from pellucid import _C, Tensor
from pellucid._package.calls import offered
from pellucid.jit._graph import Graph, Node, Value
from pellucid.utils import _pytree as pytree
from pellucid.utils._python_dispatch import TorchDispatchMode

_local = threading.local()


class TracingState:
    """The scopes of the calls that are being recorded."""

    def __init__(self) -> None:
        self._scopes: list[str] = []

    def push_scope(self, name: str) -> None:
        self._scopes.append(name)

    def pop_scope(self) -> None:
        self._scopes.pop()

    def current_scope(self) -> str:
        return "/".join(self._scopes)


@offered.runtime_value
def _get_tracing_state() -> TracingState | None:
    """The state of the recording on this thread, if there is one."""
    return getattr(_local, "state", None)


# PyTorch's tracer records convolutions as this op, whose arguments are in the order
# below; those that concern cuDNN come last.
_CONVOLUTION = "aten::_convolution"
_CONVOLUTION_ORDER = ("input", "weight", "bias", "stride", "padding", "dilation")
_OF_CUDNN = (False, False, True, True)


class _Recorder(TorchDispatchMode):
    def __init__(self, state: TracingState) -> None:
        super().__init__(_C.DispatchKey.PreDispatch)
        self.graph = Graph()
        self._state = state
        self._count = 0
        self._values: dict[int, tuple[Tensor, Value]] = {}  # tensors, held by identity

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        kind, given = _as_traced(func._schema, args, kwargs or {})
        node = Node(kind, self._state.current_scope(), [self.value(x) for x in given])
        results = pytree.tree_leaves(result)
        node._outputs = [self._new(x, node) for x in results]
        self.graph._nodes.append(node)
        return result

    def value(self, held: Any) -> Value:
        """The value of a tensor, a list of tensors or a constant."""
        if isinstance(held, Tensor):
            known = self._values.get(id(held))
            return known[1] if known else self.add_input(held)
        if isinstance(held, (list, tuple)) and any(isinstance(x, Tensor) for x in held):
            scope = self._state.current_scope()
            parts = [self.value(x) for x in held]
            node = Node("prim::ListConstruct", scope, parts)
            self.graph._nodes.append(node)
            node._outputs = [self._new(list(held), node)]
            return node._outputs[0]
        return self._new(held, None)

    def add_input(self, tensor: Tensor) -> Value:
        """The value of a tensor that no recorded call made."""
        value = self._new(tensor, None)
        self.graph._inputs.append(value)
        return value

    def _new(self, held: Any, node: Node | None) -> Value:
        value = Value(held, node, self._count)
        self._count += 1
        if isinstance(held, Tensor):
            self._values[id(held)] = held, value
        return value


def _as_traced(
    schema: Any, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[str, list[Any]]:
    """The kind of a call's node, and its arguments in order, with defaults."""
    given = {
        argument.name: args[k]
        if k < len(args)
        else kwargs.get(argument.name, argument.default_value)
        for k, argument in enumerate(schema.arguments)
    }
    kind = schema.name
    if not kind.startswith("aten::conv") or "groups" not in given:
        return kind, list(given.values())
    transposed = given.get("transposed", "transpose" in kind)
    first = [given[name] for name in _CONVOLUTION_ORDER]
    output_padding = given.get("output_padding", [0] * len(given["stride"]))
    rest = (transposed, output_padding, given["groups"], *_OF_CUDNN)
    return _CONVOLUTION, [*first, *rest]


def _get_trace_graph(
    f: Callable[..., Any],
    args: Any = (),
    kwargs: dict[str, Any] | None = None,
    strict: bool = True,
    _force_outplace: bool = False,
    return_inputs: bool = False,
    _return_inputs_states: bool = False,
) -> tuple[Any, ...]:
    """(the graph of the calls, the result) of ``f(*args, **kwargs)``, which runs once.

    With ``return_inputs`` the arguments come third. The other options concern compiled
    graphs.
    """
    args = args if isinstance(args, tuple) else (args,)
    outer = _get_tracing_state()
    _local.state = TracingState()
    recorder = _Recorder(_local.state)
    try:
        for leaf in pytree.tree_leaves((args, kwargs)):
            if isinstance(leaf, Tensor):
                recorder.add_input(leaf)
        with recorder:
            result = f(*args, **(kwargs or {}))
    finally:
        _local.state = outer
    outputs = [x for x in pytree.tree_leaves(result) if isinstance(x, Tensor)]
    recorder.graph._outputs = [recorder.value(x) for x in outputs]
    traced = (recorder.graph, result)
    return (*traced, args) if return_inputs else traced
