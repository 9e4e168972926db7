"""The graph of a model: fx's nodes as those of TensorBoard's ``GraphDef``."""

from __future__ import annotations

from typing import Any

from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.versions_pb2 import VersionDef

import pellucid
from pellucid import fx
from pellucid.fx.passes.shape_prop import ShapeProp


def graph_of(model: Any, given: Any) -> tuple[fx.Graph, Any]:
    """The Graph of ``model``, and its ``GraphDef``; with shapes if an input is given.

    A model whose Python fx cannot trace raises as ``fx.symbolic_trace`` does.
    """
    traced = fx.symbolic_trace(model)
    if given is not None:
        inputs = (given,) if isinstance(given, pellucid.Tensor) else tuple(given)
        with pellucid.no_grad():
            ShapeProp(traced).propagate(*inputs)
    nodes = [_definition(node, traced) for node in traced.graph.nodes]
    return traced.graph, GraphDef(node=nodes, versions=VersionDef(producer=22))


def _definition(node: fx.Node, traced: fx.GraphModule) -> Any:
    made = NodeDef(
        name=_name(node),
        op=_operation(node, traced),
        input=[_name(one) for one in node.all_input_nodes],
    )
    shape = getattr(node.meta.get("tensor_meta"), "shape", None)
    if shape is not None:
        dims = [TensorShapeProto.Dim(size=n) for n in shape]
        shapes = AttrValue.ListValue(shape=[TensorShapeProto(dim=dims)])
        made.attr["_output_shapes"].CopyFrom(AttrValue(list=shapes))
    return made


def _name(node: fx.Node) -> str:
    """With the path of its module, by which TensorBoard folds the graph."""
    if node.op == "call_module":
        return f"{str(node.target).replace('.', '/')}/{node.name}"
    return node.name


def _operation(node: fx.Node, traced: fx.GraphModule) -> str:
    if node.op == "call_module":
        return type(traced.get_submodule(str(node.target))).__name__
    if node.op == "call_function":
        return getattr(node.target, "__name__", str(node.target))
    return str(node.target) if node.op == "call_method" else f"IO Node ({node.op})"
