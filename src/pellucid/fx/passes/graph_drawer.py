"""``torch.fx.passes.graph_drawer``: draws graphs by Graphviz.

Drawing uses pydot, an optional dependency that is imported at first use.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any, Final

from pellucid.fx._names import qualified_name
from pellucid.fx._statements import source_line
from pellucid.fx.graph_module import GraphModule
from pellucid.fx.node import Node
from pellucid.fx.passes.shape_prop import TensorMetadata

__all__ = ["FxGraphDrawer"]

_LONGEST_ARGUMENT: Final = 60
_COLORS: Final = {
    "placeholder": "AliceBlue",
    "get_attr": "LightGrey",
    "output": "PowderBlue",
    "call_module": "LemonChiffon1",
}
_CALL_COLORS: Final = (
    *("CadetBlue1", "Coral", "DarkOliveGreen1", "DarkSeaGreen1", "GhostWhite"),
    *("Khaki1", "LavenderBlush1", "LightSkyBlue", "MistyRose1", "PaleTurquoise1"),
    *("PeachPuff1", "Salmon", "Thistle1", "Wheat1"),
)
_STYLE: Final = {
    "shape": "record",
    "style": '"filled,rounded"',
    "fontcolor": "#000000",
}


class FxGraphDrawer:
    """Drawings of a GraphModule and of the GraphModules in it.

    Every node is a box with its name, its target, its arguments except other nodes
    (included with ``skip_node_names_in_args=False``), and the metadata of its tensor;
    arrows lead to its users. RuntimeError without pydot.

    Example::

        drawing = FxGraphDrawer(symbolic_trace(model), "model").get_dot_graph()
        drawing.write_svg("model.svg")  # needs Graphviz
    """

    def __init__(
        self,
        graph_module: GraphModule,
        name: str,
        ignore_getattr: bool = False,
        ignore_parameters_and_buffers: bool = False,
        skip_node_names_in_args: bool = True,
        parse_stack_trace: bool = False,
        dot_graph_shape: str | None = None,
        normalize_args: bool = False,
    ) -> None:
        if find_spec("pydot") is None:
            raise RuntimeError(
                "FxGraphDrawer draws with pydot, which is not installed: "
                "pip install pydot"
            )
        self.ignore_getattr = ignore_getattr
        self.ignore_parameters_and_buffers = ignore_parameters_and_buffers
        self.skip_node_names_in_args = skip_node_names_in_args
        self.parse_stack_trace = parse_stack_trace
        self.shape = dot_graph_shape or "record"
        self.normalize_args = normalize_args
        self._name = name
        self._dot_graphs = {name: self._drawing(graph_module, name)}
        for node in graph_module.graph.nodes:
            if node.op != "call_module":
                continue
            part = graph_module.get_submodule(str(node.target))
            if isinstance(part, GraphModule):
                full = f"{name}_{node.target}"
                self._dot_graphs[full] = self._drawing(part, full)

    def get_dot_graph(self, submod_name: str | None = None) -> Any:
        """The ``pydot.Dot`` of the whole module, or of the named submodule."""
        return self.get_submod_dot_graph(submod_name) if submod_name else self._main

    @property
    def _main(self) -> Any:
        return self._dot_graphs[self._name]

    def get_main_dot_graph(self) -> Any:
        """The ``pydot.Dot`` of the whole module."""
        return self._main

    def get_submod_dot_graph(self, submod_name: str) -> Any:
        """The ``pydot.Dot`` of the GraphModule at ``submod_name``; KeyError if there
        is none.
        """
        return self._dot_graphs[f"{self._name}_{submod_name}"]

    def get_all_dot_graphs(self) -> dict[str, Any]:
        """All drawings, by the names of the module and the submodule."""
        return self._dot_graphs

    def _drawing(self, module: GraphModule, name: str) -> Any:
        import pydot

        drawing = pydot.Dot(name, rankdir="TB")
        drawn = [n for n in module.graph.nodes if not self._is_ignored(n)]
        for node in drawn:
            style = self._get_node_style(node)
            label = self._get_node_label(module, node)
            drawing.add_node(pydot.Node(node.name, label=label, **style))
            for weight, text in self._weights(module, node):
                place = f"{node.name}.{weight}"
                drawing.add_node(pydot.Node(place, label=f"{{{text}}}", **style))
                drawing.add_edge(pydot.Edge(place, node.name))
        for node in drawn:
            for user in node.users:
                drawing.add_edge(pydot.Edge(node.name, user.name))
        return drawing

    def _is_ignored(self, node: Node) -> bool:
        return self.ignore_getattr and node.op == "get_attr"

    def _weights(self, module: GraphModule, node: Node) -> Iterator[tuple[str, str]]:
        """Names and descriptions of a called layer's parameters and settings."""
        if node.op != "call_module" or self.ignore_parameters_and_buffers:
            return
        layer = module.get_submodule(str(node.target))
        if isinstance(layer, GraphModule):
            return
        for kind, owned in (
            ("parameter", layer.named_parameters()),
            ("buffer", layer.named_buffers()),
        ):
            for name, tensor in owned:
                facts = rf"{tensor.dtype}, {list(tensor.shape)}\l"
                yield name, f"{name}|op_code=get_{kind}|{facts}"

    def _get_node_style(self, node: Node) -> dict[str, str]:
        """Fill color and shape: calls of one target share a color."""
        color = _COLORS.get(node.op)
        if color is None:
            digest = hashlib.md5(self._target(node).encode(), usedforsecurity=False)
            color = _CALL_COLORS[digest.digest()[0] % len(_CALL_COLORS)]
        return {**_STYLE, "shape": self.shape, "fillcolor": color}

    def _target(self, node: Node) -> str:
        if node.op == "call_function" and callable(node.target):
            return str(qualified_name(node.target))
        return str(node.target)

    def _get_node_label(self, module: GraphModule, node: Node) -> str:
        """The fields of a box, stacked vertically."""
        fields = [f"name=%{node.name}", rf"op_code={node.op}\n"]
        if node.op == "call_module":
            layer = module.get_submodule(str(node.target))
            told = layer.extra_repr().replace("\n", " ")
            fields = [fields[0], rf"op_code={type(layer).__name__}\n{told}\n"]
        else:
            target = self._target(node)
            fields.append(rf"target={target}\n{self._arguments(module, node)}")
        fields.append(rf"num_users={len(node.users)}\n{self._tensor(node)}")
        found = source_line(node.stack_trace or "") if self.parse_stack_trace else None
        if found:
            fields.append(rf"file={found[0]} {found[1]}\n")
        return f"{{{'|'.join(map(_escaped, fields))}}}"

    def _arguments(self, module: GraphModule, node: Node) -> str:
        args, kwargs = node.args, node.kwargs
        if self.normalize_args and (
            normal := node.normalized_arguments(
                module, normalize_to_only_use_kwargs=True
            )
        ):
            args, kwargs = normal.args, normal.kwargs
        lines = []
        if args:
            lines.append(f"args={self._shown(args)}")
        if kwargs:
            lines.append(f"kwargs={self._shown(kwargs)}")
        return "".join(rf"{line}\n" for line in lines)

    def _shown(self, value: Any) -> str:
        if self.skip_node_names_in_args:
            if isinstance(value, dict):
                value = {k: v for k, v in value.items() if not isinstance(v, Node)}
            else:
                value = tuple(v for v in value if not isinstance(v, Node))
        text = str(value)
        is_long = len(text) > _LONGEST_ARGUMENT
        return f"{text[:_LONGEST_ARGUMENT]}..." if is_long else text

    def _tensor(self, node: Node) -> str:
        """The metadata that a pass recorded for the node's value."""
        found = node.meta.get("tensor_meta")
        several = found if isinstance(found, (list, tuple)) else [found]
        if isinstance(found, TensorMetadata):
            several = [found]
        return "".join(
            rf"dtype={t.dtype}\nshape={tuple(t.shape)}\nstride={t.stride}\n"
            rf"requires_grad={t.requires_grad}\n"
            for t in several
            if isinstance(t, TensorMetadata)
        )


def _escaped(text: str) -> str:
    """The text with Graphviz's structural characters escaped."""
    for sign in "{}<>":
        text = text.replace(sign, f"\\{sign}")
    return text
