"""Graphs that are edited, copied, pickled, written to folders, run by interpreters."""

import copy
import gc
import importlib
import linecache
import pickle
import sys

import pytest

import pellucid as torch
from pellucid import fx, nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 3)
        self.register_buffer("offset", torch.ones(3))

    def forward(self, x):
        return torch.relu(self.layer(x) + self.offset)


def traced():
    return fx.symbolic_trace(Net())


def node_of(module, target):
    return next(n for n in module.graph.nodes if n.target is target)


def test_a_call_is_replaced_by_another():
    module = traced()
    relu = node_of(module, torch.relu)
    with module.graph.inserting_after(relu):
        other = module.graph.call_function(torch.neg, relu.args)
    assert relu.replace_all_uses_with(other) == [module.graph.output_node()]
    module.graph.erase_node(relu)
    module.graph.lint()
    module.recompile()
    x = torch.ones(1, 2)
    assert torch.equal(module(x), -(module.layer(x) + 1))


def test_a_node_that_is_read_cannot_be_erased():
    module = traced()
    with pytest.raises(RuntimeError, match="still had 1 users"):
        module.graph.erase_node(node_of(module, torch.relu))


def test_nodes_know_their_order_after_many_insertions():
    graph = fx.Graph()
    first, last = graph.placeholder("a"), graph.placeholder("b")
    for _ in range(200):
        with graph.inserting_after(first):
            graph.call_function(torch.relu, (first,))
        with graph.inserting_before(last):
            graph.call_function(torch.neg, (first,))
    nodes = list(graph.nodes)
    assert sorted(nodes) == nodes
    assert len(nodes) == len(graph.nodes) == 402
    assert nodes[0] is first
    assert nodes[-1] is last


def test_lint_finds_a_use_before_its_definition():
    module = traced()
    relu = node_of(module, torch.relu)
    next(iter(module.graph.nodes)).prepend(relu)
    with pytest.raises(RuntimeError, match="used before it has been defined"):
        module.graph.lint()


def test_calls_that_nobody_reads_are_erased_unless_they_write():
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.call_function(torch.relu, (x,))
    graph.call_function(torch.ops.aten.add_.Tensor, (x, 1))
    graph.output(x)
    assert graph.eliminate_dead_code()
    assert [n.name for n in graph.nodes] == ["x", "add__tensor", "output"]


def test_arguments_of_nodes_refuse_changes_in_place():
    graph = fx.Graph()
    x = graph.placeholder("x")
    node = graph.call_function(torch.cat, ([x, x],))
    with pytest.raises(TypeError, match="create a new copy"):
        node.args[0].append(x)


def test_copies_and_pickles_compute_the_same():
    module = traced()
    x = torch.randn(4, 2)
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert torch.equal(other(x), module(x))
        assert other.code == module.code
        assert other.layer is not module.layer


def test_a_folder_holds_a_package_with_the_module(tmp_path, monkeypatch):
    module = traced()
    module.to_folder(tmp_path / "stored_net", "Stored")
    monkeypatch.syspath_prepend(str(tmp_path))
    stored = importlib.import_module("stored_net").Stored()
    sys.modules.pop("stored_net")
    x = torch.randn(4, 2)
    assert torch.equal(stored(x), module(x))


def test_an_interpreter_sees_every_value():
    class Names(fx.Interpreter):
        def run_node(self, n):
            seen.append(n.name)
            return super().run_node(n)

    seen = []
    module = traced()
    x = torch.ones(1, 2)
    assert torch.equal(Names(module).run(x), module(x))
    assert seen == ["x", "layer", "offset", "add", "relu", "output"]


def test_an_error_in_an_interpreter_names_the_node():
    with pytest.raises(RuntimeError, match=r"While executing %layer"):
        fx.Interpreter(traced()).run(torch.ones(1, 5))


def test_a_transformer_makes_another_graph():
    class Negate(fx.Transformer):
        def call_function(self, target, args, kwargs):
            target = torch.neg if target is torch.relu else target
            return super().call_function(target, args, kwargs)

    module = traced()
    other = Negate(module).transform()
    x = torch.ones(1, 2)
    assert torch.equal(other(x), -(module.layer(x) + 1))


def test_every_occurrence_of_a_pattern_is_replaced():
    module = fx.symbolic_trace(lambda x, y: torch.relu(x + 1) * torch.relu(y + 1))
    actual = fx.replace_pattern(
        module, lambda a: torch.relu(a + 1), lambda a: torch.neg(a)
    )
    assert len(actual) == 2
    x = torch.tensor([2.0])
    assert module(x, x).tolist() == [4.0]


def test_a_pattern_whose_inner_value_is_read_elsewhere_does_not_match():
    def function(x):
        inner = x + 1
        return torch.relu(inner) * inner

    module = fx.symbolic_trace(function)
    pattern, replacement = (lambda a: torch.relu(a + 1)), (lambda a: torch.neg(a))
    assert fx.replace_pattern(module, pattern, replacement) == []


def test_lines_of_the_code_can_be_transformed():
    module = traced()
    with module.graph.on_generate_code(
        lambda current: lambda body: ["seen = True\n", *body]
    ):
        assert "    seen = True\n" in module.recompile().src
    assert "seen" not in module.recompile().src


def test_the_class_of_one_module_says_so():
    class Twice(nn.Module):
        def forward(self, x):
            return 2 * x

    first, second = fx.symbolic_trace(Twice()), fx.symbolic_trace(Twice())
    assert "GraphModuleImpl" in str(type(first))
    assert type(first) is not type(second)
    assert type(first).__name__ == "Twice"
    type(first).forward = lambda self, x: x  # libraries wrap it there
    assert first(torch.ones(1)) == 1
    assert second(torch.ones(1)) == 2
    first.recompile()
    assert first(torch.ones(1)) == 2


def test_the_source_of_a_lost_module_is_forgotten():
    traced = fx.symbolic_trace(lambda x: x + 1)
    source = traced.forward.__code__.co_filename
    assert "x + 1" in "".join(linecache.getlines(source))
    del traced
    gc.collect()
    assert source not in linecache.cache
