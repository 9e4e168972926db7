"""Passes over graphs: splitting, fusing, ordering, schedules of passes, signatures."""

import pytest

import pellucid as torch
from pellucid import fx, nn
from pellucid._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from pellucid.fx.operator_schemas import (
    get_signature_for_torch_op,
    normalize_function,
    normalize_module,
    type_matches,
)
from pellucid.fx.passes.fake_tensor_prop import FakeTensorProp
from pellucid.fx.passes.infra.pass_base import PassBase, PassResult
from pellucid.fx.passes.infra.pass_manager import (
    PassManager,
    this_before_that_pass_constraint,
)
from pellucid.fx.passes.param_fetch import lift_lowering_attrs_to_nodes
from pellucid.fx.passes.split_module import split_module
from pellucid.fx.passes.split_utils import split_by_tags
from pellucid.fx.passes.tools_common import (
    FxNetAccFusionsFinder,
    get_node_target,
    legalize_graph,
    stable_topological_sort,
)
from pellucid.fx.passes.utils.common import (
    HolderModule,
    compare_graphs,
    lift_subgraph_as_module,
)
from pellucid.fx.passes.utils.fuser_utils import fuse_by_partitions, validate_partition


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 5)
        self.weight = nn.Parameter(torch.arange(5.0))
        self.second = nn.Linear(5, 2)

    def forward(self, x, y):
        a = self.first(x)
        b = torch.relu(a) * self.weight
        c = torch.tanh(y)
        return self.second(b) + c, a


def inputs():
    return torch.linspace(-1, 1, 12).reshape(3, 4), torch.ones(3, 2)


def traced():
    return fx.symbolic_trace(Net())


def same(module, other):
    pairs = zip(module(*inputs()), other(*inputs()), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


def names(graph):
    return [node.name for node in graph.nodes]


def test_a_module_is_split_where_the_callback_says():
    module = traced()
    parts = {"first": 0, "relu": 0, "weight": 0, "mul": 0, "second": 1, "add": 1}
    split = split_module(module, None, lambda node: parts.get(node.name, 2))
    assert [n for n, _ in split.named_children()] == [
        "submod_2",
        "submod_0",
        "submod_1",
    ]
    assert same(module, split)
    assert names(split.submod_0.graph) == [
        "x", "weight", "first", "relu", "mul", "output",
    ]  # fmt: skip


def test_a_split_may_return_tuples_and_rename_inputs():
    split = split_module(
        traced(), None, lambda node: node.name == "add",
        keep_original_input_name=False, partition_affix="p", tuple_return=True,
    )  # fmt: skip
    assert [n for n, _ in split.named_children()] == ["submod_p_False", "submod_p_True"]
    assert names(split.submod_p_True.graph)[:2] == ["arg_0", "arg_1"]
    assert isinstance(split.submod_p_True(torch.ones(1), torch.ones(1)), tuple)
    assert same(split, traced_like(split.submod_p_False, split))


def test_partitions_that_need_each_other_are_refused():
    module = traced()
    order = {"first": 0, "relu": 1, "mul": 0}
    with pytest.raises(RuntimeError, match="cycle exists between partitions"):
        split_module(module, None, lambda node: order.get(node.name, 0))


def test_a_split_qualifies_names_on_request():
    module, names_of = traced(), {}
    split_module(module, None, lambda node: 0, qualname_map=names_of)
    assert names_of["submod_0.first"] == "first"


def test_tags_split_in_their_order():
    module = traced()
    for node in module.graph.nodes:
        if node.op not in ("placeholder", "output", "get_attr"):
            node.tag = "late" if node.name in ("second", "add") else "early"
    split = split_by_tags(module, ["early", "late"])
    assert [n for n, _ in split.named_children()] == ["early", "late"]
    assert same(module, split)


def test_partitions_are_fused_into_calls():
    module = traced()
    inside = {n: 0 for n in module.graph.nodes if n.name in ("relu", "mul")}
    assert validate_partition(list(inside))
    fused = fuse_by_partitions(module, [inside])
    assert names(fused.fused_0.graph) == ["first", "relu", "weight", "mul", "output"]
    assert "relu" not in names(fused.graph)
    assert same(traced_like(fused, fused), fused)


def traced_like(layers, module):
    """A traced module with the layers of one and the weight of the other."""
    copy = traced()
    copy.first, copy.second, copy.weight = layers.first, layers.second, module.weight
    return copy


def test_a_partition_around_an_outsider_is_invalid():
    module = traced()
    ends = [n for n in module.graph.nodes if n.name in ("first", "mul")]
    assert not validate_partition(ends)


def test_a_result_that_is_no_tensor_stays_with_its_readers():
    def f(x):
        pieces = torch.split(x, 2)
        return torch.relu(pieces[0] + pieces[1])

    module = fx.symbolic_trace(f)
    for node in module.graph.nodes:
        node.meta["type"] = tuple if node.name == "split" else torch.Tensor
    calls = {n for n in module.graph.nodes if n.op == "call_function"}
    groups = FxNetAccFusionsFinder(module, calls)()
    assert groups == dict.fromkeys(calls, calls)


@pytest.mark.parametrize("sort", [legalize_graph, stable_topological_sort])
def test_nodes_are_sorted_by_what_they_read(sort):
    module = traced()
    nodes = {n.name: n for n in module.graph.nodes}
    nodes["second"].prepend(nodes["first"])
    nodes["add"].append(nodes["relu"])
    with pytest.raises(RuntimeError, match="used before it has been defined"):
        module.graph.lint()
    ordered = sort(module)
    ordered.graph.lint()
    ordered.recompile()
    assert same(ordered, ordered) and sorted(names(ordered.graph)) == sorted(nodes)


def test_a_nodes_target_has_its_full_name():
    module = traced()
    node = {n.name: n for n in module.graph.nodes}
    submodules = dict(module.named_modules())
    assert get_node_target(submodules, node["first"]).endswith("linear.Linear")
    assert get_node_target(submodules, node["add"]) == "_operator.add"


class Rename(PassBase):
    """Replaces one function by another."""

    def __init__(self, old, new):
        self.old, self.new = old, new

    def call(self, graph_module):
        changed = False
        for node in graph_module.graph.nodes:
            if node.target is self.old:
                node.target, changed = self.new, True
        return PassResult(graph_module, changed)


def test_passes_run_until_nothing_changes():
    passes = PassManager(
        [Rename(torch.sinh, torch.cosh), Rename(torch.tanh, torch.sinh)], steps=3
    )
    result = passes(traced())
    targets = [n.target for n in result.graph_module.graph.nodes]
    assert torch.cosh in targets and torch.tanh not in targets and result.modified


def test_a_schedule_is_held():
    def one(module):
        return None

    def two(module):
        return None

    constraint = this_before_that_pass_constraint(two, one)
    passes = PassManager([one, two], constraints=[constraint])
    passes.solve_constraints()
    assert passes.passes == [two, one]
    with pytest.raises(RuntimeError, match=r"[Cc]ircular dependency"):
        PassManager(
            [one, two],
            constraints=[constraint, this_before_that_pass_constraint(one, two)],
        ).solve_constraints()


def test_a_check_runs_on_the_module():
    seen = []

    def check(module):
        seen.append(type(module).__name__)

    passes = PassManager(
        [Rename(torch.relu, torch.neg)], run_checks_after_each_pass=True
    )
    passes.add_checks(check)
    passes(traced())
    assert seen


def test_shapes_are_known_without_values():
    module = traced()
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    FakeTensorProp(module, mode).propagate(*inputs())
    value = {n.name: n.meta["val"] for n in module.graph.nodes}
    assert value["first"].shape == (3, 5) and value["second"].shape == (3, 2)
    assert all(isinstance(value[name], FakeTensor) for name in ("x", "mul", "add"))


def test_subgraphs_become_modules():
    module = traced()
    copy = fx.Graph()
    actual = copy.graph_copy(module.graph, {})
    copy.output(actual)
    part, renamed = lift_subgraph_as_module(module, copy, "part")
    assert same(part, module) and renamed["first"] == "part.first"
    assert compare_graphs(copy, module.graph)
    changed = traced().graph
    next(n for n in changed.nodes if n.target is torch.relu).target = torch.neg
    assert not compare_graphs(copy, changed)
    held = HolderModule({"a": nn.Linear(1, 1)})
    assert [name for name, _ in held.named_children()] == ["a"]


def test_modules_attributes_are_lifted_to_nodes():
    module = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 3)))
    lift_lowering_attrs_to_nodes(module)
    (node,) = [n for n in module.graph.nodes if n.op == "call_module"]
    assert node.attrs_for_lowering["name"].endswith("Linear")


def test_arguments_are_given_names():
    pair = normalize_function(
        nn.functional.layer_norm, ("x", [3]), normalize_to_only_use_kwargs=True
    )
    assert (
        pair.args == () and pair.kwargs["input"] == "x" and pair.kwargs["eps"] == 1e-5
    )
    actual = normalize_function(
        torch.add,
        ("x", 2),
        arg_types=(torch.Tensor, int),
        normalize_to_only_use_kwargs=True,
    )
    assert actual.kwargs == {"input": "x", "other": 2, "alpha": 1}
    linear = normalize_module(nn.Sequential(nn.Linear(2, 2)), "0", ("x",))
    assert linear.args == ("x",)


def test_signatures_of_ops_come_from_their_schemas():
    signatures = get_signature_for_torch_op(torch.ops.aten.cumsum.default)
    assert [list(s.parameters) for s in signatures] == [["input", "dim", "dtype"]]
    assert get_signature_for_torch_op(len) is None
    assert type_matches(list[int], list[int]) and not type_matches(int, torch.Tensor)
