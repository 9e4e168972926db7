"""``torch._dynamo.export``: the one graph of a callable, with the callable's signature.

The graph is what a backend would get with ``fullgraph=True``. ``torch.export.export``
gives programs instead, with ranges of sizes and a file format.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from pellucid import Tensor
from pellucid._compile.settings import Settings
from pellucid.fx.experimental.proxy_tensor import make_fx
from pellucid.fx.graph import Graph, _PyTreeCodeGen, _PyTreeInfo
from pellucid.fx.graph_module import GraphModule
from pellucid.fx.node import Node, map_arg
from pellucid.nn import Module
from pellucid.utils import _pytree as pytree

__all__ = ["ExportResult", "export"]


class ExportResult(NamedTuple):
    """The graph. ``guards`` is empty: a compiled callable checks the conditions on its
    inputs in its read set, which an exported graph does not carry.
    """

    graph_module: GraphModule
    guards: set[Any]


class _Captured:
    """The backend of the export: keeps the graph, its inputs and its outputs."""

    def __init__(self) -> None:
        self.graph_module: GraphModule | None = None
        self.inputs: Sequence[Any] = ()
        self.outputs: Sequence[Any] = ()

    def __call__(self, graph_module: GraphModule, examples: Any) -> Any:
        self.graph_module = graph_module

        def run(*inputs: Any) -> Any:
            self.inputs, self.outputs = inputs, graph_module(*inputs)
            return self.outputs

        return run


def export(
    f: Callable[..., Any],
    *extra_args: Any,
    aten_graph: bool = False,
    pre_dispatch: bool = False,
    decomposition_table: Mapping[Any, Any] | None = None,
    tracing_mode: str = "symbolic",
    dynamic_shapes: Any = None,
    specialize_float: bool = True,
    assume_static_by_default: bool = False,
    same_signature: bool = True,
    disable_constraint_solver: bool = False,
    prefer_deferred_runtime_asserts_over_guards: bool = False,
    _log_export_usage: bool = True,
    constraints: Any = None,
    **extra_kwargs: Any,
) -> Any:
    """``export(f)(*args)``: calls ``f`` once and returns its graph, a GraphModule that
    takes and returns what ``f`` does. ``aten_graph`` gives ops of ``torch.ops.aten``.

    Raises Unsupported for a program that is not one graph, with the line, and
    NotImplementedError for ``dynamic_shapes``, ``constraints``, and
    ``same_signature=False``. The settings that are not named here say how PyTorch
    checks sizes; they have no effect, since a graph has no conditions on them.

    Example::

        >>> import pellucid as torch
        >>> graph_module, guards = torch._dynamo.export(torch.sin)(torch.ones(3))
        >>> graph_module(torch.zeros(3))
        tensor([0., 0., 0.])
    """

    refused = {
        "dynamic_shapes": dynamic_shapes is not None,
        "constraints": constraints is not None,
        "same_signature=False": not same_signature,
    }
    for name in (name for name, is_given in refused.items() if is_given):
        raise NotImplementedError(
            f"_dynamo.export does not take {name}: the graph has the signature of the "
            "callable, and no ranges of sizes; torch.export.export has them"
        )

    def call(*args: Any, **kwargs: Any) -> ExportResult:
        from pellucid._compile.callables import innermost
        from pellucid._compile.capture.backends import Backend

        captured = _Captured()
        function = innermost(f)
        settings = Settings(captured, fullgraph=True)
        name = getattr(function, "__qualname__", type(function).__name__)
        result = Backend(name, settings).run(function, args, kwargs)
        module = _with_signature(function, captured, args, kwargs, result)
        if aten_graph:
            module = _in_ops(
                module, args, kwargs, tracing_mode, decomposition_table, pre_dispatch
            )
        return ExportResult(module, set())

    return call(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else call


def _with_signature(
    function: Any, captured: _Captured, args: Any, kwargs: Any, result: Any
) -> GraphModule:
    """The graph with the callable's arguments and results, tensors of its own as
    attributes.
    """
    root, graph = Module(), Graph()
    leaves, in_spec = pytree.tree_flatten((args, kwargs))
    results, out_spec = pytree.tree_flatten(result)
    own = _names_of_tensors(function)
    known: dict[int, Node] = {}  # by tensor
    nodes: dict[Node, Node] = {}
    names = _names_of_inputs(captured)
    for index, leaf in enumerate(leaves):
        node = graph.create_node(
            "placeholder", f"arg{index}", name=names.get(id(leaf), f"arg{index}")
        )
        known[id(leaf)] = node
    placed: Any = captured.graph_module.graph if captured.graph_module else Graph()
    inputs = placed.find_nodes(op="placeholder")
    for node, value in zip(inputs, captured.inputs, strict=True):
        if id(value) not in known:
            name = "L__self___" + own.get(id(value), node.name).replace(".", "_")
            _set(root, name, value)
            known[id(value)] = graph.create_node("get_attr", name, name=node.name)
        nodes[node] = known[id(value)]
    for node in placed.nodes:
        if node.op in ("placeholder", "output"):
            continue
        if node.op == "get_attr":
            setattr(root, str(node.target), getattr(captured.graph_module, node.target))
        nodes[node] = graph.node_copy(node, nodes.__getitem__)
    if placed.nodes:
        outputs = placed.output_node().args[0]
        computed = {
            _place(value): nodes[node]
            for node, value in zip(outputs, captured.outputs, strict=True)
            if isinstance(node, Node)
        }
    else:
        computed = {}

    def node_of(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        return known.get(id(value)) or computed[_place(value)]

    graph.output(list(map(node_of, results)))
    _sign(graph, function, args, kwargs, in_spec, out_spec)
    return GraphModule(root, graph)


def _place(tensor: Tensor) -> Any:
    """Where it is: the program has other objects for the graph's outputs."""
    geometry = tensor.size(), tensor.stride(), tensor.dtype
    return tensor.data_ptr(), *geometry


def _sign(
    graph: Graph, function: Any, args: Any, kwargs: Any, in_spec: Any, out_spec: Any
) -> None:
    called = function.forward if isinstance(function, Module) else function
    try:
        parameters = list(inspect.signature(called).parameters.values())
    except ValueError:  # of a builtin
        parameters = []
    plain = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    names = [plain[i] if i < len(plain) else f"args_{i}" for i in range(len(args))]
    graph.set_codegen(_PyTreeCodeGen(_PyTreeInfo([*names, *kwargs], in_spec, out_spec)))


def _names_of_tensors(function: Any) -> dict[int, str]:
    """The names of a module's parameters and buffers, by identity."""
    owner = function if isinstance(function, Module) else None
    owner = getattr(function, "__self__", owner)
    if not isinstance(owner, Module):
        return {}
    tensors = (*owner.named_parameters(), *owner.named_buffers())
    return {id(tensor): name for name, tensor in tensors}


def _names_of_inputs(captured: _Captured) -> dict[int, str]:
    if captured.graph_module is None:
        return {}
    nodes = captured.graph_module.graph.find_nodes(op="placeholder")
    pairs = zip(nodes, captured.inputs, strict=True)
    return {id(value): node.name for node, value in pairs}


def _set(root: Module, name: str, value: Any) -> None:
    is_plain = isinstance(value, Tensor) and not value.requires_grad
    if is_plain:
        root.register_buffer(name, value)
    else:
        setattr(root, name, value)


def _in_ops(
    module: GraphModule,
    args: Any,
    kwargs: Any,
    tracing_mode: str,
    table: Mapping[Any, Any] | None,
    pre_dispatch: bool,
) -> GraphModule:
    """The same graph of ops, traced with the module's leaves as inputs."""
    leaves = pytree.tree_leaves((args, kwargs))
    codegen: Any = module.graph._codegen
    info = codegen.pytree_info

    def run(*flat: Any) -> Any:
        given, keywords = pytree.tree_unflatten(list(flat), info.in_spec)
        return pytree.tree_leaves(module(*given, **keywords))

    made = make_fx(run, table, tracing_mode, pre_dispatch=pre_dispatch)(*leaves)
    output = made.graph.output_node()
    output.args = (map_arg(list(output.args[0]), lambda node: node),)
    made.graph.set_codegen(_PyTreeCodeGen(info))
    made.recompile()
    return made
