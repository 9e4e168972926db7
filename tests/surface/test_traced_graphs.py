"""The graphs of ``torch.jit._get_trace_graph``, which operation counters read."""

import pellucid as torch
from pellucid import nn


def kinds(graph):
    return [node.kind() for node in graph.nodes()]


def traced(function, *args):
    return torch.jit._get_trace_graph(function, args)


def test_composites_are_single_nodes_under_their_own_names():
    model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Softmax(1))
    graph, result = traced(model, torch.ones(2, 4))
    assert kinds(graph) == ["aten::linear", "aten::relu", "aten::softmax"]
    assert result.shape == (2, 3)


def test_convolutions_have_the_arguments_of_the_general_one():
    layers = (nn.Conv2d(3, 8, 3, padding=1), nn.ConvTranspose2d(3, 8, 2, stride=2))
    found = []
    for layer in layers:
        graph, _ = traced(layer, torch.ones(2, 3, 8, 8))
        (node,) = graph.nodes()
        inputs = list(node.inputs())
        found.append((node.kind(), len(inputs), inputs[6].toIValue()))
    assert found == [("aten::_convolution", 13, flag) for flag in (False, True)]


def test_the_general_convolution_says_whether_it_is_transposed():
    weight, rest = torch.ones(2, 1, 3), (None, [1], [0], [1], True, [0], 1)

    def function(x):
        return torch.convolution(x, weight, *rest)

    (node,) = traced(function, torch.ones(1, 2, 5))[0].nodes()
    assert list(node.inputs())[6].toIValue() is True


def test_values_have_sizes_constants_and_the_nodes_of_lists():
    a = torch.ones(2, 3)
    graph, _ = traced(lambda x: torch.einsum("ij,kj->ik", x, a), a)
    listed, node = graph.nodes()
    equation, operands = list(node.inputs())[:2]
    assert equation.toIValue() == "ij,kj->ik"
    assert operands.node() is listed and not operands.isCompleteTensor()
    sizes = [value.type().sizes() for value in operands.node().inputs()]
    assert sizes == [[2, 3], [2, 3]]
    assert [v.type().sizes() for v in node.outputs()] == [[2, 2]]


def test_a_result_is_the_input_of_the_next_node():
    graph, _ = traced(lambda x: x.sin().cos(), torch.ones(3))
    first, second = graph.nodes()
    assert list(second.inputs()) == list(first.outputs())
    assert list(graph.outputs()) == list(second.outputs())
    assert list(graph.inputs()) == list(first.inputs())


def test_scopes_are_those_that_were_pushed():
    def function(x):
        state = torch._C._get_tracing_state()
        state.push_scope("outer")
        state.push_scope("inner")
        x = x.exp()
        state.pop_scope()
        return x.log()

    graph, _ = traced(function, torch.ones(3))
    assert [n.scopeName() for n in graph.nodes()] == ["outer/inner", "outer"]


def test_tracing_ends_with_the_call():
    seen = []
    traced(lambda x: seen.append(torch.jit.is_tracing()) or x, torch.ones(1))
    assert seen == [True]
    assert not torch.jit.is_tracing()
    assert torch._C._get_tracing_state() is None
