"""Traces functions as subgraphs of a graph that is being traced.

Each function is traced into its own GraphModule. Tensors of the outer trace that it
captures become additional inputs, so that every tensor is an operand of the op.
``mode`` is the trace's ProxyTorchDispatchMode, whose methods call this.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from pellucid import Tensor
from pellucid._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from pellucid.fx.experimental.op_tracer import PythonKeyTracer
from pellucid.fx.graph_module import GraphModule
from pellucid.fx.node import Node
from pellucid.fx.proxy import Proxy
from pellucid.utils import _pytree as pytree


class FunctionGraph(NamedTuple):
    """A function's graph, and its results for the tensors it was traced with."""

    module: GraphModule
    results: list[Any]  # flat
    spec: pytree.TreeSpec


class _FunctionTracer(PythonKeyTracer):
    """Turns tensors captured from an outer trace into inputs."""

    def __init__(self, outer: PythonKeyTracer) -> None:
        super().__init__()
        self.outer = outer
        self.lifted: dict[int, tuple[Tensor, Node]] = {}

    def knows(self, value: Any) -> bool:
        outer = self.outer
        is_outer = isinstance(outer, _FunctionTracer) and outer.knows(value)
        return id(value) in self.proxies or id(value) in outer.proxies or is_outer

    def proxy_of(self, value: Any) -> Any:
        if id(value) not in self.proxies and self.knows(value):
            self.lift(value)
        return super().proxy_of(value)

    def lift(self, value: Tensor) -> Node:
        """The additional input for a tensor of an outer trace."""
        if id(value) not in self.lifted:
            inputs = self.graph.find_nodes(op="placeholder")
            place = inputs[-1] if inputs else self.graph._root
            with self.graph.inserting_after(place):
                node = self.create_node("placeholder", f"lifted{len(inputs)}", (), {})
            proxy = self.proxy(node)
            proxy.node.meta["val"] = value
            self.note(value, proxy)
            self.lifted[id(value)] = value, proxy.node
        return self.lifted[id(value)][1]


def traced_functions(
    mode: Any,
    functions: Sequence[Callable[..., Any]],
    operands: Sequence[Sequence[Any]],
) -> tuple[list[FunctionGraph], list[Tensor]]:
    """The graphs of ``functions`` of their flat ``operands``, and the captured tensors
    that each of them takes after these.
    """
    made = [
        _trace(mode, f, given) for f, given in zip(functions, operands, strict=True)
    ]
    lifted = {key: t for tracer, *_ in made for key, (t, _) in tracer.lifted.items()}
    found = []
    for tracer, results, spec in made:
        for value in lifted.values():
            node = tracer.lift(value)
            inputs = tracer.graph.find_nodes(op="placeholder")
            if inputs[-1] is not node:
                inputs[-1].append(node)
        module = GraphModule(tracer.root, tracer.graph, "<lambda>")
        found.append(FunctionGraph(module, results, spec))
    return found, list(lifted.values())


def _trace(
    mode: Any, function: Callable[..., Any], operands: Sequence[Any]
) -> tuple[_FunctionTracer, list[Any], pytree.TreeSpec]:
    tracer = _FunctionTracer(mode.tracer)
    is_fake = any(isinstance(x, FakeTensor) for x in operands)
    fakes = None if is_fake else FakeTensorMode(allow_non_fake_inputs=True)
    given: list[Any] = []
    for index, operand in enumerate(operands):
        value = operand
        proxy = tracer.create_proxy("placeholder", f"arg{index}_1", (), {})
        if isinstance(operand, Tensor):
            # A separate object: the function may also capture the operand.
            with mode.paused():
                value = fakes.from_tensor(operand) if fakes else operand
                value = value.clone()
            tracer.note(value, proxy)
        proxy.node.meta["val"] = value
        given.append(value)
    pre_dispatch = mode._dispatch_key is not None
    inner = type(mode)(tracer, mode.decomposition_table, pre_dispatch=pre_dispatch)
    inner.reads = mode.reads
    reading = mode.reads.recorded_by(tracer) if mode.reads else contextlib.nullcontext()
    with mode.paused(), fakes or contextlib.nullcontext(), inner, reading:
        result = function(*given)
    results, spec = pytree.tree_flatten(result)
    returned = [tracer.proxy_of(x) if isinstance(x, Tensor) else x for x in results]
    tracer.create_node("output", "output", (tracer.create_arg(tuple(returned)),), {})
    return tracer, results, spec


def recorded_call(
    mode: Any,
    op: Any,
    graphs: Mapping[str, GraphModule],
    rest: tuple[Any, ...],
    results: Callable[[], Sequence[Any]],
    graphs_at: int,
) -> list[Any]:
    """Implements ``ProxyTorchDispatchMode.record_call``."""
    tracer = mode.tracer
    attributes: list[Proxy] = []
    for prefix, graph in graphs.items():
        name = tracer.get_fresh_qualname(f"{prefix}_")
        tracer.root.add_module(name, graph)
        attributes.append(tracer.create_proxy("get_attr", name, (), {}))
    proxied = pytree.tree_map_only(Tensor, tracer.proxy_of, rest)
    args = (*proxied[:graphs_at], *attributes, *proxied[graphs_at:])
    node = tracer.create_proxy("call_function", op, args, {}, op.name())
    with mode.paused():
        given = tuple(_fresh(x) for x in results())
    mode._note_results(given, node)
    return list(given)


def _fresh(value: Any) -> Any:
    """A separate tensor object: a function may return its argument."""
    return value.clone() if isinstance(value, Tensor) else value
