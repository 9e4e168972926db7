"""Converts a segment to a GraphModule, with the names of PyTorch's capture."""

from __future__ import annotations

import functools
import inspect
import operator
import re
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._compile.capture.segment import Call, Segment, Value, fill
from pellucid._compile.capture.variants import Pattern, Slot
from pellucid.fx.graph import Graph
from pellucid.fx.graph_module import GraphModule
from pellucid.fx.node import Node
from pellucid.nn import Module

Names = dict[int, str]  # id of a tensor → its source expression: L['x']


def make_graph(
    segment: Segment, pattern: Pattern, outputs: Sequence[int], names: Names
) -> GraphModule:
    """The graph of the segment's calls; inputs are the open numbers, then the
    tensors.
    """
    graph = Graph()
    slots = [
        graph.placeholder(f"s{k}", type_expr=int) for k in range(pattern.num_slots)
    ]
    nodes: dict[int, Node] = {}
    for number, tensor in segment.inputs():
        nodes[number] = _placeholder(graph, number, tensor, names)

    def number_of(index: int) -> Any:
        own = pattern.numbers[index]
        return slots[own.place] if type(own) is Slot else own

    for call in segment.calls:
        _add_call(graph, call, nodes, number_of)
    graph.output(tuple(nodes[number] for number in outputs))
    module = GraphModule(Module(), graph)
    module.graph.lint()
    return module


def _placeholder(graph: Graph, number: int, tensor: Tensor, names: Names) -> Node:
    source = names.get(id(tensor), f"L['tensor'][{number}]")
    target = re.sub(r"\W+", "_", source)
    node = graph.create_node(
        *("placeholder", target, (), {}),
        name=target.lower(),
        type_expr=type(tensor),
    )
    node.meta["source"] = source
    return node


def _add_call(
    graph: Graph, call: Call, nodes: dict[int, Node], number_of: Callable[[int], Any]
) -> None:
    about = call.description
    args = fill(call.args, nodes.__getitem__, number_of)
    kwargs = fill(call.kwargs, nodes.__getitem__, number_of)
    if about.target is getattr:
        args = (args[0], about.name)
    elif about.swaps:
        args = args[::-1]
    op, target = about.op, about.target
    is_operator = getattr(target, "__module__", "") == "_operator"
    if is_operator and about.name != "setitem" and (kwargs or len(args) > 2):
        op, target = "call_method", about.name  # x.add(y, alpha=2)
    node = graph.create_node(op, target, tuple(args), kwargs)
    if call.place is not None:
        file, line, function = call.place
        node.meta["stack_trace"] = f'  File "{file}", line {line}, in {function}\n'
    _note_nodes(graph, call.results, node, nodes)


def _note_nodes(graph: Graph, stored: Any, node: Node, nodes: dict[int, Node]) -> None:
    if type(stored) is Value:
        nodes[stored.number] = node
    elif type(stored) is list:
        for index, place in enumerate(stored):
            if place is not None:
                item = graph.call_function(operator.getitem, (node, index))
                _note_nodes(graph, place, item, nodes)


def add_examples(module: GraphModule, examples: Sequence[Any]) -> None:
    """``meta["example_value"]`` of every node: fake tensors."""
    from pellucid._subclasses.fake_tensor import FakeTensorMode
    from pellucid.fx.interpreter import Interpreter

    class Examples(Interpreter):
        def run_node(self, n: Node) -> Any:
            result = super().run_node(n)
            if n.op != "output":
                n.meta["example_value"] = result
            return result

    with pellucid.set_grad_enabled(pellucid.is_grad_enabled()):
        mode = FakeTensorMode(allow_non_fake_inputs=True)
        fake = [mode.from_tensor(e) if isinstance(e, Tensor) else e for e in examples]
        with mode:
            Examples(module).run(*fake)


def names_of_inputs(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Names:
    """Source expressions of tensors: arguments, modules, closure and globals."""
    names: Names = {}
    for source, value in _sources(fn, args, kwargs):
        _note_names(source, value, names, 0)
    return names


def _sources(
    fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Iterator[tuple[str, Any]]:
    if isinstance(fn, Module):
        yield "L['self']", fn
        fn = fn.forward
    if isinstance(fn, types.MethodType):
        yield "L['self']", fn.__self__
    try:
        given = inspect.signature(fn).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        given = {"args": args, **kwargs}
    for name, value in given.items():
        yield f"L['{name}']", value
    function = inspect.unwrap(getattr(fn, "__func__", fn))
    if isinstance(function, functools.partial):
        function = function.func
    code = getattr(function, "__code__", None)
    if code is None:
        return
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield f"L['{name}']", cell.cell_contents
        except ValueError:
            continue  # an empty cell
    for name in code.co_names:
        if name in function.__globals__:
            yield f"G['{name}']", function.__globals__[name]


def _note_names(source: str, value: Any, names: Names, depth: int) -> None:
    if isinstance(value, Tensor):
        names.setdefault(id(value), source)
    elif isinstance(value, Module):
        for path, module in value.named_modules():
            within = "".join(f".modules['{part}']" for part in path.split(".") if part)
            for kind in ("_parameters", "_buffers"):
                for name, tensor in vars(module)[kind].items():
                    names.setdefault(
                        id(tensor), f"{source}{within}.{kind[1:]}['{name}']"
                    )
    elif depth < 3 and isinstance(value, dict):
        for key, item in value.items():
            _note_names(f"{source}[{key!r}]", item, names, depth + 1)
    elif depth < 3 and isinstance(value, list | tuple):
        for index, item in enumerate(value):
            _note_names(f"{source}[{index}]", item, names, depth + 1)
