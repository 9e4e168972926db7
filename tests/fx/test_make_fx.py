"""``make_fx``, fake tensors, and forward and backward as graphs."""

import copy
import gc

import pytest

import pellucid as torch
from pellucid import nn
from pellucid._functorch.aot_autograd import aot_function, aot_module
from pellucid._functorch.partitioners import (
    default_partition,
    min_cut_rematerialization_partition,
)
from pellucid._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
)
from pellucid.fx.experimental.proxy_tensor import make_fx

aten = torch.ops.aten


def targets(module):
    return [n.target for n in module.graph.nodes if n.op == "call_function"]


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_the_graph_computes_what_the_function_computes(mode):
    def function(x, y):
        return (x @ y.t()).relu().sum(0), x.t().reshape(-1) * 2

    x, y = torch.randn(4, 3), torch.randn(5, 3)
    graph = make_fx(function, tracing_mode=mode)(x, y)
    for actual, expected in zip(graph(x, y), function(x, y), strict=True):
        assert torch.equal(actual, expected)
    assert aten.mm.default in targets(graph)


def test_a_gradient_inside_the_function_is_recorded():
    def gradient(x):
        x = x.detach().requires_grad_()
        return torch.autograd.grad(torch.tanh(x @ x.t()).sum(), x)[0]

    x = torch.randn(3, 2)
    graph = make_fx(gradient, tracing_mode="fake")(x)
    assert aten.tanh_backward.default in targets(graph)
    other = torch.randn(3, 2)
    assert torch.equal(graph(other), gradient(other))


SAVES_ITS_RESULT = [torch.tanh, torch.exp, lambda x: x.softmax(-1), lambda x: x.sqrt()]


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
@pytest.mark.parametrize("function", SAVES_ITS_RESULT)
def test_a_saved_result_is_a_value_of_the_graph(function, mode):
    def gradient(x):
        return torch.autograd.grad((function(x) * function(x)).sum(), x)[0]

    x, other = (torch.rand(3, 2, requires_grad=True) for _ in range(2))
    graph = make_fx(gradient, tracing_mode=mode)(x)
    assert not [node for node in graph.graph.nodes if node.op == "get_attr"]
    torch.testing.assert_close(graph(other), gradient(other))


def test_composites_are_seen_whole_before_dispatch():
    layer = nn.Linear(2, 3)
    graph = make_fx(layer.forward, pre_dispatch=True)(torch.ones(1, 2))
    assert targets(graph) == [aten.linear.default]


def test_a_table_replaces_ops_by_others():
    table = {aten.silu.default: lambda x: x * torch.sigmoid(x)}
    graph = make_fx(nn.functional.silu, decomposition_table=table)(torch.ones(2))
    assert targets(graph) == [aten.sigmoid.default, aten.mul.Tensor]


def test_a_symbolic_graph_serves_other_sizes():
    image = nn.Sequential(nn.Conv2d(3, 4, 3, stride=2, padding=1), nn.Flatten(2))

    def function(x):
        y = image(x)
        batch, channels, area = y.shape
        return y.transpose(1, 2).reshape(batch * area, channels), torch.zeros(batch)

    graph = make_fx(function, tracing_mode="symbolic")(torch.randn(6, 3, 10, 10))
    x = torch.randn(9, 3, 15, 15)
    for actual, expected in zip(graph(x), function(x), strict=True):
        assert torch.equal(actual, expected)


def test_a_comparison_of_sizes_becomes_a_guard_with_its_line():
    def function(x):
        if x.shape[0] > 100:
            return x + 1
        return x - 1

    graph = make_fx(function, tracing_mode="symbolic")(torch.ones(6))
    (guard,) = graph.shape_env.guards
    assert str(guard) == "s0 <= 100"
    assert "if x.shape[0] > 100:" in guard.place


def test_fake_tensors_have_shapes_and_no_data():
    with FakeTensorMode():
        x = torch.empty(10**6, 10**6, dtype=torch.float64)
        y = (x + 1) @ x
    assert isinstance(y, FakeTensor)
    assert (y.shape, y.dtype, y.device.type) == (x.shape, torch.float64, "cpu")
    with pytest.raises(DataDependentOutputException, match="item"):
        y.sum().item()
    with FakeTensorMode(), pytest.raises(DynamicOutputShapeException):
        torch.nonzero(torch.ones(3))


def test_fake_tensors_have_the_places_of_the_real_ones():
    with FakeTensorMode() as mode:
        fake = mode.from_tensor(torch.arange(12.0)[2:10].view(2, 4))
        assert (fake.storage_offset(), fake.stride()) == (2, (4, 1))
        assert fake[1].storage_offset() == 6 and (fake + 1).storage_offset() == 0


def test_a_view_in_place_changes_the_shape_of_a_fake_tensor():
    with FakeTensorMode():
        x = torch.empty(3, 4)
        assert x.t_() is x
        x.unsqueeze_(0)
    assert (x.shape, x.stride(), x.dim()) == ((1, 4, 3), (4, 1, 4), 3)


def test_a_real_tensor_written_in_a_fake_mode_is_returned_as_it_is():
    class Marked(torch.Tensor):
        pass

    x = torch.ones(3)
    for _ in range(5):
        with FakeTensorMode(allow_non_fake_inputs=True) as mode:
            assert x.add_(mode.from_tensor(torch.ones(3))) is x
            assert type(x.as_subclass(Marked)) is Marked
            assert type(x.as_subclass(FakeTensor)) is FakeTensor
        gc.collect()
    assert x.tolist() == [1, 1, 1]


def test_real_tensors_do_not_mix_with_fake_ones_by_default():
    with FakeTensorMode() as mode:
        fake = mode.from_tensor(torch.ones(3))
    real = torch.ones(3)
    with pytest.raises(AssertionError, match="convert all Tensors to FakeTensors"):
        fake + real


@pytest.mark.parametrize(
    "partition", [default_partition, min_cut_rematerialization_partition]
)
def test_compiled_halves_give_the_gradients_of_the_module(partition):
    torch.manual_seed(0)
    model = nn.Sequential(
        *(nn.Linear(4, 8), nn.GELU(), nn.BatchNorm1d(8), nn.Linear(8, 2))
    )
    other = copy.deepcopy(model)
    x = torch.randn(5, 4)
    compiled = aot_module(other, lambda graph, inputs: graph, partition_fn=partition)
    model(x).square().sum().backward()
    compiled(x).square().sum().backward()
    for expected, actual in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.equal(expected.grad, actual.grad)
    for expected, actual in zip(model.buffers(), other.buffers(), strict=True):
        assert torch.equal(expected, actual)


def test_the_least_cut_computes_cheap_values_again():
    def function(x):
        return torch.cos(torch.sin(torch.exp(x))).sum()

    saved = {}
    for partition in (default_partition, min_cut_rematerialization_partition):

        def keep(graph, inputs, partition=partition):
            saved.setdefault(partition, len(graph.graph.output_node().args[0]) - 1)
            return graph

        x = torch.randn(3, requires_grad=True)
        aot_function(function, keep, partition_fn=partition)(x).backward()
        expected = -torch.sin(torch.sin(torch.exp(x))) * torch.cos(torch.exp(x))
        assert torch.allclose(x.grad, expected * torch.exp(x))
    assert saved[min_cut_rematerialization_partition] == 1
    assert saved[default_partition] > 1


def test_absent_gradients_are_no_constants_of_a_backward_graph():
    graphs = []

    def keep(graph, inputs):
        graphs.append(graph)
        return graph

    layer = nn.BatchNorm1d(4)
    module = aot_module(layer, fw_compiler=keep, bw_compiler=keep)
    x = torch.randn(3, 4, requires_grad=True)
    module(x).square().sum().backward()
    backward = graphs[1]
    assert aten.zeros.default in targets(backward)
    assert not [n for n in backward.graph.nodes if n.op == "get_attr"]


def test_what_a_differentiated_composite_saves_is_known_to_the_trace():
    def gradient(x, weight):
        y, _, _ = torch.native_batch_norm(
            x, weight, None, torch.zeros(3), torch.ones(3), True, 0.1, 1e-5
        )
        return torch.autograd.grad((y**3).sum(), x)[0]

    given = [torch.randn(4, 3, requires_grad=True) for _ in range(2)]
    weight = torch.ones(3, requires_grad=True)
    graph = make_fx(gradient)(given[0], weight)
    torch.testing.assert_close(graph(given[1], weight), gradient(given[1], weight))
