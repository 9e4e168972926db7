"""Parts of a graph that a backend supports, as modules."""

import operator
import random

import pellucid as torch
from pellucid import fx, nn
from pellucid.fx.passes import splitter_base
from pellucid.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from pellucid.fx.passes.operator_support import (
    OperatorSupport,
    OpSupports,
    any_chain,
    chain,
    create_op_support,
)
from pellucid.fx.passes.shape_prop import ShapeProp

ARITHMETIC = create_op_support(
    lambda modules, node: node.target in (operator.add, operator.mul)
)


def test_groups_stay_free_of_cycles():
    def function(a, b, c):
        x = a + b
        z = x * c
        w = x.relu() + z
        return (torch.sin(w) + w) * 2 + z

    module = fx.symbolic_trace(function)
    args = [torch.randn(3) for _ in range(3)]
    partitioner = CapabilityBasedPartitioner(module, ARITHMETIC)
    actual = [{n.name for n in p.nodes} for p in partitioner.propose_partitions()]
    assert actual == [{"add_3", "mul_1", "add_2"}, {"add_1", "mul"}]
    fused = partitioner.partition_and_fuse()
    calls = [n.target for n in fused.graph.nodes if n.op == "call_module"]
    assert sorted(calls) == ["fused_0", "fused_1"] and "self.fused_1(" in fused.code
    assert torch.equal(fused(*args), function(*args))


def random_graph(seed):
    choose = random.Random(seed).choice
    graph = fx.Graph()
    nodes = [graph.placeholder(name) for name in "ab"]
    functions = (operator.add, operator.mul, torch.maximum, torch.minimum)
    for _ in range(20):
        args = choose(nodes), choose(nodes)
        nodes.append(graph.call_function(choose(functions), args))
    graph.output(tuple(nodes[-4:]))
    return fx.GraphModule(nn.Module(), graph)


def test_fused_random_graphs_compute_the_same():
    args = torch.randn(4), torch.randn(4)
    for seed in range(40):
        module = random_graph(seed)
        expected = module(*args)
        single = seed % 2 == 0
        partitioner = CapabilityBasedPartitioner(module, ARITHMETIC, single)
        fused = partitioner.partition_and_fuse()
        fused.graph.lint()
        for a, b in zip(fused(*args), expected, strict=True):
            assert torch.equal(a, b)
        if single:
            names = [str(n.target) for n in fused.graph.nodes if "call" in n.op]
            assert not any("operator" in n and "getitem" not in n for n in names)


def test_items_of_results_are_with_their_producer():
    def function(x):
        values, places = torch.max(x, 0)
        return values + 1, places

    module = fx.symbolic_trace(function)
    support = create_op_support(lambda modules, node: node.target is torch.max)
    partitioner = CapabilityBasedPartitioner(module, support, True)
    (partition,) = partitioner.propose_partitions()
    assert [n.name for n in partition.nodes] == ["max_1", "getitem", "getitem_1"]
    fused = partitioner.fuse_partitions([partition])
    assert torch.equal(fused(torch.eye(2))[0], torch.full((2,), 2.0))


def test_support_is_declared_by_table_and_combined():
    module = fx.symbolic_trace(lambda x, y: (x + y).relu() + 1)
    ShapeProp(module).propagate(torch.ones(2), torch.ones(2))
    add, relu, last = (n for n in module.graph.nodes if "call" in n.op)
    table = {"_operator.add": ([[torch.float32], [torch.float32]], {}), "relu": None}
    by_table = OperatorSupport(table)
    assert [by_table.is_node_supported({}, n) for n in (add, relu, last)] == [
        *(True, True, False)
    ]
    no_floats = OpSupports.decline_if_input_dtype(torch.float32)
    named = OpSupports.decline_if_node_in_names({add.name})
    assert not chain(by_table, named).is_node_supported({}, add)
    assert chain(by_table, named).is_node_supported({}, relu)
    assert not no_floats.is_node_supported({}, relu)
    assert any_chain(no_floats, by_table).is_node_supported({}, relu)


class Simple(OperatorSupport):
    def is_node_supported(self, submodules, node):
        return node.target in (torch.relu, operator.add, "sigmoid")


def split_by_support(function, x, **settings):
    splitter = splitter_base._SplitterBase(
        fx.symbolic_trace(function),
        (x,),
        Simple(),
        splitter_base._SplitterSettingBase(**settings),
    )
    return splitter.generate_split_results()


def test_a_splitter_alternates_between_the_device_and_the_cpu(capsys):
    x = torch.randn(4)

    def function(x):
        return torch.sin(torch.relu(x + 1)).sigmoid()

    split, inputs, prefix = split_by_support(function, x)
    names = ["_run_on_acc_0", "_run_on_cpu_1", "_run_on_acc_2"]
    assert [name for name, _ in split.named_children()] == names == list(inputs)
    assert prefix == "_run_on_cpu_"
    torch.testing.assert_close(split(x), function(x))
    large, _, _ = split_by_support(function, x, min_acc_module_size=2)
    assert [name for name, _ in large.named_children()] == names[:2]
    assert "Eliminating acc subgraph" in capsys.readouterr().out


def test_only_tensors_are_exchanged_with_the_device():
    x = torch.randn(4)

    def function(x):
        return torch.relu(x) + x.shape[0]

    split, _, _ = split_by_support(function, x)
    for name, part in split.named_children():
        if "acc" in name:
            assert all(n.target is torch.relu for n in calls_of(part))
    torch.testing.assert_close(split(x), function(x))


def calls_of(module):
    return [n for n in module.graph.nodes if n.op.startswith("call")]


def test_a_splitter_reports_what_the_device_runs(capsys):
    splitter = splitter_base._SplitterBase(
        fx.symbolic_trace(lambda x: torch.relu(x).cos()),
        (torch.ones(2),),
        Simple(),
        splitter_base._SplitterSettingBase(),
    )
    text = splitter.node_support_preview()
    assert "Supported node types in the model:\ntorch.relu: ((torch.float32,)" in text
    assert "cos: ((torch.float32,), {})" in text
