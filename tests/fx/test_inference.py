"""Graphs for inference: constant folding, fused batch norms, common subexpressions."""

import pytest

import pellucid as torch
from pellucid import fx, nn
from pellucid.fx.annotate import annotate
from pellucid.fx.experimental import optimization
from pellucid.fx.experimental.const_fold import split_const_subgraphs
from pellucid.fx.experimental.proxy_tensor import make_fx
from pellucid.fx.passes.dialect.common.cse_pass import CSEPass, get_CSE_banned_ops


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.tensor([1.0, 2.0]))
        self.b = nn.Parameter(torch.tensor([3.0, 4.0]))

    def forward(self, x):
        weight = torch.exp(self.a + self.b)
        return x * weight + self.a


def test_constants_are_computed_once():
    module = Scaled()
    folded = split_const_subgraphs(module)
    calls = [n.target for n in folded.graph.nodes if n.op == "call_function"]
    assert torch.exp not in calls and len(calls) == 2
    x = torch.tensor([0.5, 2.0])
    assert torch.equal(folded(x), module(x))
    with torch.no_grad():
        module.a.mul_(2)
    assert folded.has_folding_been_run and folded(x).shape == (2,)


def test_what_may_not_be_folded_stays():
    module = Scaled()
    kept = split_const_subgraphs(module, lambda node: node.target is torch.exp)
    assert torch.exp in [n.target for n in kept.graph.nodes]
    x = torch.ones(2)
    assert torch.equal(kept(x), module(x))


def test_without_constants_the_graph_is_the_same():
    folded = split_const_subgraphs(nn.Sequential(nn.ReLU()))
    assert folded.const_subgraph_module is None
    assert folded(torch.tensor([-1.0, 2.0])).tolist() == [0.0, 2.0]


def network():
    torch.manual_seed(0)
    layers = nn.Sequential(
        nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Dropout(0.5)
    )
    layers(torch.randn(8, 2, 6, 6))
    return layers.eval()


def test_batch_norms_join_their_convolutions():
    model, x = network(), torch.randn(2, 2, 6, 6)
    fused = optimization.optimize_for_inference(model)
    kinds = [type(m) for m in fused.modules() if not list(m.children())]
    targets = [n.target for n in fused.graph.nodes if n.op == "call_module"]
    assert len(targets) == 2 and nn.Conv2d in kinds
    assert torch.allclose(fused(x), model(x), atol=1e-5)


def test_dropout_is_removed():
    model, x = network().train(), torch.randn(2, 2, 6, 6)
    without = optimization.remove_dropout(model)
    assert not any("Dropout" in str(type(m)) for m in without.modules())
    assert without(x).shape == (2, 3, 4, 4)


def test_a_part_of_a_graph():
    traced = fx.symbolic_trace(lambda x: torch.relu(x + 1) * 2)
    x, add, relu, *_ = traced.graph.nodes
    part = optimization.extract_subgraph(traced, [add, relu], [x], [relu])
    (actual,) = part(torch.tensor([-3.0, 1.0]))
    assert actual.tolist() == [0.0, 2.0]


def test_equal_calls_become_one():
    def program(x):
        return x.cos() + x.cos() + torch.rand_like(x) * 0 + torch.rand_like(x) * 0

    traced = make_fx(program)(torch.ones(3))
    actual = CSEPass()(traced)
    names = [str(n.target) for n in actual.graph_module.graph.nodes]
    assert actual.modified
    assert names.count("aten.cos.default") == 1
    assert names.count("aten.rand_like.default") == 2
    x = torch.randn(3)
    assert torch.equal(actual.graph_module(x), x.cos() + x.cos())


def test_a_write_separates_equal_calls():
    def program(x):
        before = x.cos()
        x.add_(1)
        return before + x.cos()

    traced = make_fx(program)(torch.ones(3))
    actual = CSEPass()(traced).graph_module
    assert torch.equal(actual(torch.ones(3)), program(torch.ones(3)))


def test_equal_memory_is_not_shared_if_it_is_written():
    def program(x):
        first, second, third = (torch.zeros_like(x) for _ in range(3))
        first[0].add_(1)
        return first + 2 * second + third

    traced = make_fx(program)(torch.ones(3))
    actual = CSEPass()(traced)
    assert actual.modified
    assert actual.graph_module(torch.ones(3)).tolist() == [1.0, 0.0, 0.0]


def test_ops_that_draw_are_banned():
    banned = get_CSE_banned_ops()
    aten = torch.ops.aten
    assert {aten.rand, aten.dropout, aten.normal_, aten.multinomial} < banned
    assert not {aten.cos, aten.add, aten.zeros} & banned


def test_types_of_values():
    def program(x):
        return annotate(x + 1, torch.Tensor)

    traced = fx.symbolic_trace(program)
    assert [n.type for n in traced.graph.nodes][1] is torch.Tensor
    assert annotate(3, int) == 3
    with pytest.raises(RuntimeError, match="has the type"):
        fx.symbolic_trace(lambda x: annotate(annotate(x + 1, int), float))
