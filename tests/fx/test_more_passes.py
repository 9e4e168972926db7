"""Passes that libraries use: sources, named matches, in-place forms, sizes."""

import operator

import pytest

import pellucid as torch
from pellucid import fx, nn
from pellucid.fx.experimental.normalize import NormalizeArgs, NormalizeOperators
from pellucid.fx.experimental.proxy_tensor import make_fx
from pellucid.fx.passes.graph_manipulation import (
    get_size_of_all_nodes,
    replace_target_nodes_with,
)
from pellucid.fx.passes.graph_transform_observer import GraphTransformObserver
from pellucid.fx.passes.pass_manager import (
    PassManager,
    inplace_wrapper,
    loop_pass,
    this_before_that_pass_constraint,
)
from pellucid.fx.passes.reinplace import reinplace
from pellucid.fx.passes.utils.matcher_with_name_node_map_utils import (
    SubgraphMatcherWithNameNodeMap,
)
from pellucid.fx.passes.utils.source_matcher_utils import (
    check_subgraphs_connected,
    get_source_partitions,
)
from pellucid.fx.tensor_type import Dyn, TensorType, is_consistent, is_more_precise


def test_nodes_are_found_by_what_made_them():
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3))
    graph = torch.export.export(model, (torch.ones(1, 3),)).module().graph
    parts = get_source_partitions(graph, [nn.Linear, nn.ReLU])
    first, second = parts[nn.Linear]
    (relu,) = parts[nn.ReLU]
    assert [n.name for n in first.input_nodes] == ["input_1"]
    assert [n.name for n in second.output_nodes] == ["linear_1"]
    assert len(first.params) == 2
    assert check_subgraphs_connected(first, relu)
    assert not check_subgraphs_connected(first, second)
    program = torch.export.export(model, (torch.ones(1, 3),))
    (part, _) = get_source_partitions(program.graph, [nn.Linear])[nn.Linear]
    names = [n.name for n in part.input_nodes]
    assert names == ["input_1", "p_0_weight", "p_0_bias"] and not part.params
    none = get_source_partitions(graph, [nn.Linear], lambda n: n.name == "absent")
    assert none == {}


def test_a_pattern_names_its_nodes():
    def pattern(x, w):
        linear = nn.functional.linear(x, w)
        relu = torch.relu(linear)
        return relu, {"linear": linear, "relu": relu}

    def target(x, w):
        return torch.relu(nn.functional.linear(x, w)) + 1

    matcher = SubgraphMatcherWithNameNodeMap(fx.symbolic_trace(pattern))
    traced = fx.symbolic_trace(target)
    (match,) = matcher.match(traced.graph)
    names = {name: node.name for name, node in match.name_node_map.items()}
    assert names == {"linear": "linear", "relu": "relu"}


@pytest.mark.parametrize(
    "program, written",
    [
        (lambda x: x.clone().add(1).mul(2), 2),
        (lambda x: x + 1, 0),  # an input
        (lambda x: x.t().mul(2).add(x), 1),  # a view of an input, then a value
        (lambda x: (lambda y: y.sin() + y)(x.clone()), 1),  # y is read again
        (lambda x: (lambda y: (y, y.add(1)))(x.clone()), 0),  # y is a result
        (lambda x: (lambda y: y.t().add(1) + y.sum())(x.clone()), 1),
        (lambda x: x.clone().sum(0).add(1), 1),
        (lambda x: x.exp().gt(1), 0),  # another dtype
        (lambda x: (lambda y: y + y.t())(x.clone()), 0),  # operands share memory
        (lambda x: (lambda y: y + y)(x.clone()), 1),
        (lambda x: x.sum().expand(3, 3) + x, 0),  # elements share memory
    ],
)
def test_calls_write_where_nothing_is_read_afterwards(program, written):
    x = torch.randn(3, 3)
    graph = reinplace(make_fx(program)(x), x)
    names = [str(n.target) for n in graph.graph.nodes if n.op == "call_function"]
    assert sum("_." in name for name in names) == written
    given, expected = x.clone(), program(x)
    torch.testing.assert_close(graph(given), expected, rtol=0, atol=0)
    assert torch.equal(given, x)


def test_passes_are_functions_in_order():
    calls = []

    def first(module):
        calls.append("first")

    def second(module):
        calls.append("second")
        return module

    wrapped = inplace_wrapper(first)
    before = this_before_that_pass_constraint(wrapped, second)
    manager = PassManager([second, wrapped], [before])
    with pytest.raises(RuntimeError, match="constraint violated"):
        manager("module")
    manager.solve_constraints()
    assert manager("module") == "module"
    assert calls == ["first", "second"]
    assert loop_pass(lambda n: n * 2, n_iter=3)(1) == 8
    assert loop_pass(lambda n: n * 2, predicate=lambda n: n < 50)(1) == 64
    with pytest.raises(AssertionError, match="Exactly one"):
        loop_pass(second)


def test_sizes_and_targets_of_nodes():
    traced = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 3), nn.ReLU()))
    get_size_of_all_nodes(traced, [torch.ones(5, 2)])
    sizes = [n.size_bytes for n in traced.graph.nodes if n.op != "output"]
    assert [s.output_size for s in sizes] == [40, 60, 60]
    assert sizes[1].total_size == 60 + 4 * 9
    traced = fx.symbolic_trace(lambda x: torch.relu(x))
    replace_target_nodes_with(
        *(traced, "call_function", torch.relu), *("call_function", torch.neg)
    )
    assert traced(torch.ones(2)).tolist() == [-1, -1]


def test_an_observer_lists_what_a_pass_changes():
    traced = fx.symbolic_trace(lambda x: torch.relu(x) + 1)
    with GraphTransformObserver(traced, "negate") as observer:
        (relu,) = traced.graph.find_nodes(op="call_function", target=torch.relu)
        with traced.graph.inserting_after(relu):
            relu.replace_all_uses_with(traced.graph.call_function(torch.neg, relu.args))
        traced.graph.erase_node(relu)
    assert observer.created_nodes == {"neg"} and observer.erased_nodes == {"relu"}


def test_equal_calls_get_one_form():
    traced = fx.symbolic_trace(lambda x, y: torch.add(x, y) * nn.functional.relu(x))
    plain = NormalizeOperators(traced).transform()
    assert plain.graph.find_nodes(op="call_function", target=operator.add)
    x, y = torch.randn(3), torch.randn(3)
    for module in (plain, NormalizeArgs(traced).transform()):
        assert torch.equal(module(x, y), traced(x, y))
    relu = (
        NormalizeArgs(traced)
        .transform()
        .graph.find_nodes(op="call_function", target=nn.functional.relu)
    )
    assert set(relu[0].kwargs) == {"input", "inplace"}


def test_types_of_shapes_compare():
    known, partly = TensorType((1, 2)), TensorType((1, Dyn))
    assert is_consistent(known, partly) and is_consistent(partly, Dyn)
    assert not is_consistent(known, TensorType((1, 3)))
    assert is_more_precise(known, partly) and not is_more_precise(partly, known)
    assert repr(TensorType[1, Dyn]) == "TensorType[(1, Dyn)]"
