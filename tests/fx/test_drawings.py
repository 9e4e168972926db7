"""``FxGraphDrawer``: its calls of pydot, recorded by a fake."""

import sys
import types

import pytest

import pellucid as torch
from pellucid import fx, nn
from pellucid.fx.passes.graph_drawer import FxGraphDrawer
from pellucid.fx.passes.shape_prop import ShapeProp


class Drawing:
    def __init__(self, name, **options):
        self.name, self.options = name, options
        self.nodes, self.edges = {}, []

    def add_node(self, node):
        self.nodes[node[0]] = node[1]

    def add_edge(self, edge):
        self.edges.append(edge)


@pytest.fixture
def pydot(monkeypatch):
    module = types.ModuleType("pydot")
    module.__spec__ = types.SimpleNamespace(name="pydot")
    module.Dot = Drawing
    module.Node = lambda name, **options: (name, options)
    module.Edge = lambda source, target: (source, target)
    monkeypatch.setitem(sys.modules, "pydot", module)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 5)
        self.scale = nn.Parameter(torch.ones(5))

    def forward(self, x):
        return torch.clamp(self.layer(x) * self.scale, min=0.5)


def traced():
    module = fx.symbolic_trace(Net())
    ShapeProp(module).propagate(torch.randn(2, 4))
    return module


def test_boxes_and_arrows(pydot):
    drawing = FxGraphDrawer(traced(), "net").get_dot_graph()
    assert set(drawing.nodes) == {
        *("x", "layer", "layer.weight", "layer.bias", "scale", "mul", "clamp"),
        "output",
    }
    assert set(drawing.edges) == {
        *(("x", "layer"), ("layer", "mul"), ("scale", "mul"), ("mul", "clamp")),
        *(("clamp", "output"), ("layer.weight", "layer"), ("layer.bias", "layer")),
    }
    label = drawing.nodes["clamp"]["label"]
    assert "name=%clamp" in label and "op_code=call_function" in label
    assert r"shape=(2, 5)\nstride=(5, 1)" in label and r"\{'min': 0.5\}" in label
    assert "in_features=4" in drawing.nodes["layer"]["label"]
    assert "torch.float32, [5, 4]" in drawing.nodes["layer.weight"]["label"]


def test_what_is_left_out(pydot):
    drawing = FxGraphDrawer(
        traced(), "net", ignore_getattr=True, ignore_parameters_and_buffers=True
    ).get_main_dot_graph()
    assert set(drawing.nodes) == {"x", "layer", "mul", "clamp", "output"}
    assert ("scale", "mul") not in drawing.edges


def test_submodules_have_drawings(pydot):
    outer = fx.symbolic_trace(nn.Sequential(Net()), concrete_args=None)
    part = fx.symbolic_trace(Net())
    graph = fx.Graph()
    graph.output(graph.call_module("part", (graph.placeholder("x"),)))
    whole = fx.GraphModule({"part": part}, graph)
    drawer = FxGraphDrawer(whole, "whole")
    assert set(drawer.get_all_dot_graphs()) == {"whole", "whole_part"}
    assert "clamp" in drawer.get_dot_graph("part").nodes
    assert drawer.get_submod_dot_graph("part") is drawer.get_dot_graph("part")
    assert set(FxGraphDrawer(outer, "o").get_all_dot_graphs()) == {"o"}
    with pytest.raises(KeyError):
        drawer.get_submod_dot_graph("absent")


def test_without_pydot_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr("pellucid.fx.passes.graph_drawer.find_spec", lambda name: None)
    with pytest.raises(RuntimeError, match="pip install pydot"):
        FxGraphDrawer(traced(), "net")
