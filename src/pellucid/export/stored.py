"""``save`` and ``load``: an ExportedProgram in a file, without code.

The file is written by ``torch.save`` from plain values: the graph as lists and names of
ops, the tensors, the ranges. Loading looks ops up by name; it neither imports nor runs
anything that the file names.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._functions import symbolic_numbers
from pellucid._ops.higher_order import HigherOrderOperator
from pellucid.export.exported_program import (
    CallSpec,
    ExportedProgram,
    ModuleCallEntry,
    ModuleCallSignature,
    Range,
)
from pellucid.export.graph_signature import (
    Argument,
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymIntArgument,
    TensorArgument,
)
from pellucid.fx.graph import Graph
from pellucid.fx.graph_module import GraphModule
from pellucid.fx.node import Node
from pellucid.nn import Module
from pellucid.utils import _pytree as pytree

__all__ = ["load", "save"]

_VERSION = 7
# 2: without nodes' modules; 3: without sizes of others; 4: names of arguments alone;
# 5: without example inputs; 6: without numbers that are read
_READABLE = (2, 3, 4, 5, 6, 7)
_PYTHON = {
    f"operator.{name}": getattr(operator, name)
    for name in (
        *("add", "sub", "mul", "floordiv", "mod", "truediv", "pow", "neg", "getitem"),
        *("eq", "ne", "lt", "le", "gt", "ge", "abs"),
    )
}
_PYTHON |= {
    f"torch.{name}": getattr(symbolic_numbers, name)
    for name in ("sym_float", "sym_max", "sym_min", "sym_sqrt")
}
_NAMES = {function: name for name, function in _PYTHON.items()}
_CONTAINERS = {"tuple": tuple, "list": list, "dict": dict}
_NAMED = ("dtype", "memory_format", "layout")


def save(
    ep: ExportedProgram,
    f: Any,
    *,
    extra_files: Mapping[str, Any] | None = None,
    opset_version: Mapping[str, int] | None = None,
    pickle_protocol: int = 2,
) -> None:
    """Writes a program to a path or file, with texts or bytes by name in
    ``extra_files``. ``opset_version`` and ``pickle_protocol`` have no effect. Raises
    ValueError for a graph with values that a file cannot store.
    """
    if not isinstance(ep, ExportedProgram):
        raise TypeError(
            f"save takes an ExportedProgram, not {type(ep).__name__}; did you mean "
            "torch.save?"
        )
    signature = ep.graph_signature
    pellucid.save(
        {
            "version": _VERSION,
            **_stored_graph(ep.graph_module),
            "inputs": [
                [s.kind.name, _stored_argument(s.arg), s.target, s.persistent]
                for s in signature.input_specs
            ],
            "outputs": [
                [s.kind.name, _stored_argument(s.arg), s.target]
                for s in signature.output_specs
            ],
            "state": {n: v.detach() for n, v in ep.state_dict.items()},
            "requires_grad": {n: v.requires_grad for n, v in ep.state_dict.items()},
            "constants": dict(ep.constants),
            "in_spec": _stored_spec(ep.call_spec.in_spec),
            "out_spec": _stored_spec(ep.call_spec.out_spec),
            "ranges": [
                [r.name, r.input, r.dim, r.lower, r.upper, r.factor, r.offset]
                for r in ep.ranges
            ],
            "parts": [_stored_part(entry) for entry in ep.module_call_graph],
            "examples": _stored_examples(ep.example_inputs),
            "extra": dict(extra_files or {}),
            "is_functional": ep.is_functional,
        },
        f,
    )


def load(
    f: Any,
    *,
    extra_files: dict[str, Any] | None = None,
    expected_opset_version: Mapping[str, int] | None = None,
) -> ExportedProgram:
    """Reads a program that ``save`` wrote; the module's code is not needed. Values of
    ``extra_files`` are replaced by those that were saved under the same names.
    """
    stored = pellucid.load(f, weights_only=True)
    if not isinstance(stored, dict) or stored.get("version") not in _READABLE:
        raise ValueError(f"{f} has no exported program of this version")
    if extra_files is not None:
        saved = stored.get("extra", {})
        extra_files.update({name: saved[name] for name in extra_files if name in saved})
    module = _module(stored)
    specs = [
        InputSpec(InputKind[k], _argument(arg), *rest)
        for k, arg, *rest in stored["inputs"]
    ]
    outputs = [
        OutputSpec(OutputKind[k], _argument(arg), *rest)
        for k, arg, *rest in stored["outputs"]
    ]
    parameters = {s.target for s in specs if s.kind is InputKind.PARAMETER}
    state = {
        name: pellucid.nn.Parameter(value, requires_grad=stored["requires_grad"][name])
        if name in parameters
        else value
        for name, value in stored["state"].items()
    }
    in_spec = _spec(stored["in_spec"])
    return ExportedProgram(
        *(module, ExportGraphSignature(specs, outputs)),
        *(state, stored["constants"]),
        CallSpec(in_spec, _spec(stored["out_spec"])),
        [Range(*r) for r in stored["ranges"]],
        example_inputs=_examples(stored.get("examples"), in_spec),
        module_call_graph=[_part(entry) for entry in stored.get("parts", ())],
        is_functional=stored.get("is_functional", False),
    )


def _stored_examples(examples: Any) -> list[Any] | None:
    """The inputs that a program was exported with, in the order of its placeholders."""
    if examples is None:
        return None
    return [
        ["tensor", leaf.detach()] if isinstance(leaf, Tensor) else _plain(leaf)
        for leaf in pytree.tree_leaves(examples)
    ]


def _examples(stored: list[Any] | None, spec: pytree.TreeSpec) -> Any:
    if stored is None:
        return None
    leaves = [v[1] if v[0] == "tensor" else _value(v, {}) for v in stored]
    return pytree.tree_unflatten(leaves, spec)


def _stored_part(entry: ModuleCallEntry) -> list[Any]:
    if entry.signature is None:
        return [entry.fqn, None]
    s = entry.signature
    values = [[_stored_argument(a) for a in group] for group in (s.inputs, s.outputs)]
    specs = _stored_spec(s.in_spec), _stored_spec(s.out_spec)
    return [entry.fqn, [*values, *specs, s.forward_arg_names]]


def _part(stored: list[Any]) -> ModuleCallEntry:
    name, signature = stored
    if signature is None:
        return ModuleCallEntry(name)
    inputs, outputs, in_spec, out_spec, names = signature
    made = ModuleCallSignature(
        [_argument(a) for a in inputs],
        [_argument(a) for a in outputs],
        *(_spec(in_spec), _spec(out_spec)),
        names,
    )
    return ModuleCallEntry(name, made)


def _stored_argument(argument: Argument) -> list[Any]:
    if isinstance(argument, ConstantArgument):
        return ["constant", _plain(argument.value), argument.name]
    is_tensor = isinstance(argument, TensorArgument)
    return ["tensor" if is_tensor else "size", argument.name]


def _argument(stored: Any) -> Argument:
    tag, *rest = ["tensor", stored] if isinstance(stored, str) else stored
    if tag == "constant":
        return ConstantArgument("".join(rest[1:]), _value(rest[0], {}))
    return (TensorArgument if tag == "tensor" else SymIntArgument)(*rest)


def _stored_graph(module: GraphModule) -> dict[str, Any]:
    """The nodes, their subgraphs, and the subgraphs' tensors."""
    names = {str(n.target) for n in module.graph.find_nodes(op="get_attr")}
    held = {name: getattr(module, name) for name in sorted(names)}
    graphs = {k: v for k, v in held.items() if isinstance(v, GraphModule)}
    return {
        "nodes": [_stored_node(node) for node in module.graph.nodes],
        "functions": {name: _stored_graph(graph) for name, graph in graphs.items()},
        "tensors": {k: v for k, v in held.items() if k not in graphs},
    }


def _stored_node(node: Node) -> list[Any]:
    target: Any = node.target
    if node.op == "call_function":
        if isinstance(target, HigherOrderOperator):
            target = f"{target.namespace}.{target.name()}"
        else:
            target = _NAMES.get(target) or str(target)
    expected = node.meta.get("expected")
    args, kwargs = _plain(node.args), _plain(dict(node.kwargs))
    stack = [[key, *v] for key, v in node.meta.get("nn_module_stack", {}).items()]
    return [node.op, node.name, target, args, kwargs, _plain(expected), stack]


def _plain(value: Any) -> Any:
    """A value as lists: a tag, then its contents."""
    if isinstance(value, Node):
        return ["node", value.name]
    if value is None or isinstance(value, bool | int | float | str):
        return ["value", value]
    if isinstance(value, complex):
        return ["complex", value.real, value.imag]
    if isinstance(value, list | tuple):
        kind = "list" if isinstance(value, list) else "tuple"
        return [kind, [_plain(v) for v in value]]
    if isinstance(value, dict):
        return ["dict", [[k, _plain(v)] for k, v in value.items()]]
    if isinstance(value, pellucid.device):
        return ["device", str(value)]
    for kind in _NAMED:
        if isinstance(value, getattr(pellucid, kind)):
            return [kind, str(value).removeprefix("torch.")]
    raise ValueError(f"an exported program cannot store {value!r}")


def _value(stored: Any, nodes: dict[str, Node]) -> Any:
    tag, *rest = stored
    if tag == "node":
        return nodes[rest[0]]
    if tag == "value":
        return rest[0]
    if tag == "complex":
        return complex(*rest)
    if tag in ("list", "tuple"):
        return _CONTAINERS[tag](_value(v, nodes) for v in rest[0])
    if tag == "dict":
        return {k: _value(v, nodes) for k, v in rest[0]}
    if tag == "device":
        return pellucid.device(rest[0])
    if tag in _NAMED:
        found = getattr(pellucid, rest[0])
        if isinstance(found, getattr(pellucid, tag)):
            return found
    raise ValueError(f"the file has {tag!r}, which is not part of exported programs")


def _module(stored: dict[str, Any]) -> GraphModule:
    root = Module()
    for name, function in stored["functions"].items():
        root.add_module(name, _module(function))
    for name, tensor in stored["tensors"].items():
        setattr(root, name, tensor)
    return GraphModule(root, _graph(stored["nodes"]))


def _graph(stored: list[Any]) -> Graph:
    graph = Graph()
    nodes: dict[str, Node] = {}
    for op, name, target, args, kwargs, expected, *modules in stored:
        if op not in ("placeholder", "get_attr", "call_function", "output"):
            raise ValueError(f"the file has a node of unknown kind {op!r}")
        called = _function(target) if op == "call_function" else target
        node = graph.create_node(
            op, called, _value(args, nodes), _value(kwargs, nodes), name
        )
        node.meta["expected"] = _value(expected, nodes)
        if modules and modules[0]:
            stack = {key: (part, kind) for key, part, kind in modules[0]}
            node.meta["nn_module_stack"] = stack
        nodes[name] = node
    return graph


def _function(name: str) -> Any:
    """An op, or an operator of Python, by name."""
    if name in _PYTHON:
        return _PYTHON[name]
    namespace, _, rest = name.partition(".")
    if namespace == HigherOrderOperator.namespace:
        return getattr(pellucid.ops.higher_order, rest)
    op, _, overload = rest.partition(".")
    return getattr(getattr(getattr(pellucid.ops, namespace), op), overload)


def _stored_spec(spec: pytree.TreeSpec) -> Any:
    if spec.is_leaf():
        return None
    kinds = {kind: name for name, kind in _CONTAINERS.items()}
    if spec.type not in kinds:
        raise ValueError(f"an exported program cannot store a {spec.type} of values")
    context = list(spec.context) if spec.type is dict else None
    return [kinds[spec.type], context, [_stored_spec(s) for s in spec.children_specs]]


def _spec(stored: Any) -> pytree.TreeSpec:
    return pytree.tree_structure(_example(stored))


def _example(stored: Any) -> Any:
    if stored is None:
        return 0
    kind, keys, children = stored
    values = [_example(child) for child in children]
    if kind == "dict":
        return dict(zip(keys, values, strict=True))
    return _CONTAINERS[kind](values)
