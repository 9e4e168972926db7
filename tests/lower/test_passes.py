"""The pass manager: passes have names, are verified and can be printed one by one."""

import itertools

import pytest

from pellucid_compiler.ir.build import element, emit_map
from pellucid_compiler.ir.expr import make, sym
from pellucid_compiler.ir.graph import Graph, VerificationError
from pellucid_compiler.lower.pipelines import STEP_PASSES, op_passes
from pellucid_compiler.passes.fuse import fuse
from pellucid_compiler.passes.manager import Pass, run_passes


def two_maps():
    graph = Graph("f")
    x = graph.input([sym("x.0")], "float32", "x")
    y = emit_map(graph, x.shape, lambda i: make("exp", element(x, [i])))
    graph.outputs = [emit_map(graph, x.shape, lambda i: element(y, [i]) + 1)]
    return graph


def swapped(graph):
    graph.nodes.reverse()
    return graph


@pytest.mark.parametrize("passes", [op_passes(False), op_passes(True), STEP_PASSES])
def test_every_pass_of_a_pipeline_has_a_name_of_its_own(passes):
    names = [each.name for each in passes]
    assert all(names) and len(set(names)) == len(names)
    assert all(callable(each.run) for each in passes)


def test_passes_run_in_order_and_are_shown_before_and_after():
    stages = []
    graph = run_passes(two_maps(), op_passes(False), stages.append)
    assert [stage.name for stage in stages] == [p.name for p in op_passes(False)]
    assert stages[-1].after == repr(graph)
    for stage, following in itertools.pairwise(stages):
        assert stage.after == following.before
    (fusion,) = (stage for stage in stages if stage.name == "fuse")
    assert fusion.changed
    assert (fusion.nodes_before, fusion.nodes_after) == (2, 1)
    assert fusion.before.count(" = map(") == 2 and fusion.after.count(" = map(") == 1


def test_a_pass_that_only_renames_the_graph_has_not_changed_it():
    stages = []
    run_passes(fuse(two_maps()), [Pass("fuse", fuse)], stages.append)
    assert stages[0].before != stages[0].after and not stages[0].changed


def test_a_broken_rule_names_the_pass(monkeypatch):
    monkeypatch.setenv("PELLUCID_VERIFY", "1")
    with pytest.raises(VerificationError, match=r"after the pass swap: .*not defined"):
        run_passes(two_maps(), [Pass("swap", swapped)])


def test_production_does_not_verify(monkeypatch):
    monkeypatch.delenv("PELLUCID_VERIFY", raising=False)
    graph = run_passes(two_maps(), [Pass("swap", swapped)])
    assert len(graph.nodes) == 2
