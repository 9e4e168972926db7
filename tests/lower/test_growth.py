"""Lowering time is proportional to the Graph, and its recursion depth is bounded."""

import sys
import time

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
LONG = 3000


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


def seconds(work, graph):
    """The least processor time of a few runs."""
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        work(graph)
        best = min(best, time.process_time() - start)
    return best


@pytest.mark.parametrize("work", [forward, backward])
@pytest.mark.parametrize("name", BLOCKS)
def test_four_times_the_blocks_take_about_four_times_as_long(work, name):
    # From 16 blocks on, groups have their maximal size.
    few, many = (chain(BLOCKS[name][0], n, BLOCKS[name][1]) for n in (16, 64))
    seconds(work, few)  # one-time work of the process
    assert seconds(work, many) < 7 * seconds(work, few)


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


@pytest.mark.usefixtures("low_limit")
def test_a_long_chain_of_products_lowers():
    plan = forward(chain(layer_block, LONG))
    assert len(plan.steps) == 2 * LONG
    assert len(encode_plan(plan)) > 100 * LONG


@pytest.mark.usefixtures("low_limit")
@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_a_long_chain_of_elements_is_transformed_and_lowers(transform):
    graph = transform(chain(pointwise_block, LONG))
    steps = lowered(graph, may_alias=True).steps
    assert 10 < len(steps) < LONG  # fused, within the limits of fusion
