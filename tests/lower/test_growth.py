"""Lowering does work in proportion to the Graph, and its recursion depth is bounded."""

import cProfile
import sys

import pytest

from pellucid_compiler.abi.plan import (
    BlockStep,
    encode_plan,
)
from pellucid_compiler.ir.expr import sym
from pellucid_compiler.lower.graph import lower_graph
from pellucid_compiler.transforms import batch, jvp, vjp
from tests.lower.chains import (
    chain,
    layer_block,
    pointwise_block,
    product_block,
    residual_block,
)

BLOCKS = {"products": (product_block, 0), "residuals": (residual_block, 2)}
LONG = 1500
MOST = 4.8  # times the calls for four times the blocks


def everything(graph):
    return range(len(graph.inputs))


TRANSFORMS = {
    "vjp": lambda graph: vjp(graph, everything(graph)),
    "jvp": lambda graph: jvp(graph, everything(graph)),
    "batch": lambda graph: batch(graph, [True] * len(graph.inputs), sym("batch.0")),
}


def lowered(graph, may_alias):
    return lower_graph(graph, {}, name="chain", may_alias=may_alias).plan


def forward(graph):
    return lowered(graph, may_alias=False)


def backward(graph):
    return lowered(vjp(graph, everything(graph)), may_alias=True)


def calls(work, graph):
    """The calls of Python functions in a run: they do not depend on the machine."""
    profiler = cProfile.Profile(builtins=False)
    profiler.runcall(work, graph)
    return sum(entry.callcount for entry in profiler.getstats())


@pytest.fixture
def unverified(monkeypatch):
    """Passes are not verified: what is counted is the lowering."""
    monkeypatch.delenv("PELLUCID_VERIFY")


@pytest.mark.usefixtures("unverified")
@pytest.mark.parametrize("work", [forward, backward])
@pytest.mark.parametrize("name", BLOCKS)
def test_four_times_the_blocks_take_about_four_times_the_calls(work, name):
    # From 16 blocks on, groups have their maximal size.
    few, many = (chain(BLOCKS[name][0], n, BLOCKS[name][1]) for n in (16, 64))
    calls(work, chain(BLOCKS[name][0], 1, BLOCKS[name][1]))  # one-time work
    assert calls(work, many) < MOST * calls(work, few)


def test_groups_that_run_block_by_block_are_bounded():
    for work in (forward, backward):
        steps = work(chain(product_block, 40)).steps
        sizes = [len(step.steps) for step in steps if isinstance(step, BlockStep)]
        assert 2 < max(sizes) <= 16 and len(sizes) > 1


@pytest.fixture
def low_limit():
    """A low recursion limit."""
    before = sys.getrecursionlimit()
    depth = 0
    frame = sys._getframe()
    while frame is not None:
        depth, frame = depth + 1, frame.f_back
    sys.setrecursionlimit(depth + 700)
    yield
    sys.setrecursionlimit(before)


@pytest.mark.usefixtures("low_limit", "unverified")
def test_four_thousand_nodes_take_four_times_the_calls_of_a_quarter():
    few, many = chain(layer_block, 500), chain(layer_block, 2000)
    assert len(many.nodes) == 4000
    made = []
    fewer = calls(lambda graph: made.append(forward(graph)), few)
    assert calls(lambda graph: made.append(forward(graph)), many) < MOST * fewer
    for plan, graph in zip(made, (few, many), strict=True):
        assert len(plan.steps) == len(graph.nodes)
        assert len(encode_plan(plan)) > 50 * len(graph.nodes)


@pytest.mark.usefixtures("low_limit")
@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_a_long_chain_of_elements_is_transformed_and_lowers(transform):
    graph = transform(chain(pointwise_block, LONG))
    steps = lowered(graph, may_alias=True).steps
    assert 10 < len(steps) < LONG  # fused, within the limits of fusion
