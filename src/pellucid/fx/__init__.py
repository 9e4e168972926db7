"""``torch.fx``: programs as graphs that can be inspected, transformed and run.

``symbolic_trace`` runs a program with Proxies and returns a GraphModule: its Graph of
Nodes can be edited, and its ``forward`` is generated from the Graph. Nothing here uses
the runtime. Read ``node.py``, ``graph.py``, ``graph_module.py``, then ``proxy.py`` and
``_symbolic_trace.py``.
"""

from pellucid._package.calls.submodules import submodules
from pellucid.fx import immutable_collections as immutable_collections
from pellucid.fx._symbolic_trace import PH as PH
from pellucid.fx._symbolic_trace import ProxyableClassMeta as ProxyableClassMeta
from pellucid.fx._symbolic_trace import Tracer as Tracer
from pellucid.fx._symbolic_trace import symbolic_trace as symbolic_trace
from pellucid.fx._symbolic_trace import wrap as wrap
from pellucid.fx.graph import CodeGen as CodeGen
from pellucid.fx.graph import Graph as Graph
from pellucid.fx.graph_module import GraphModule as GraphModule
from pellucid.fx.interpreter import Interpreter as Interpreter
from pellucid.fx.interpreter import Transformer as Transformer
from pellucid.fx.node import Node as Node
from pellucid.fx.node import has_side_effect as has_side_effect
from pellucid.fx.node import map_arg as map_arg
from pellucid.fx.proxy import Attribute as Attribute
from pellucid.fx.proxy import ParameterProxy as ParameterProxy
from pellucid.fx.proxy import Proxy as Proxy
from pellucid.fx.subgraph_rewriter import replace_pattern as replace_pattern

__all__ = [
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "Tracer",
    "Transformer",
    "has_side_effect",
    "map_arg",
    "replace_pattern",
    "symbolic_trace",
    "wrap",
]

__getattr__ = submodules(__name__)
