"""Costs of plans as run: those of random loops equal their costs as written; fusion,
blocks and triangles show where they differ.
"""

import random

import pellucid_compiler.catalogue  # noqa: F401 - fills the registry
from pellucid_compiler.declare.op import REGISTRY
from pellucid_compiler.ir.cost import graph_cost
from pellucid_compiler.ir.graph import Graph
from pellucid_compiler.lower.graph import lower_graph
from pellucid_compiler.lower.plan_cost import plan_cost, total
from pellucid_compiler.specialise.graphs import declared_graph
from pellucid_compiler.specialise.requests import TensorLike
from tests.ir.test_cost import random_loop


def as_run(graph, shapes):
    lowered = lower_graph(graph, {}, name="loop")
    return plan_cost(lowered.plan, lowered.kernels, shapes)


def test_random_loops_cost_as_run_what_they_cost_as_written():
    compared = 0
    for seed in range(250):
        node, env, extents = random_loop(random.Random(seed))
        stored = len(node.attrs.shape)
        if stored < len(extents) and 1 in extents:
            continue  # nothing is combined along an axis of one point
        graph = Graph()
        inputs = [
            graph.input(v.shape, v.dtype, f"x{k}") for k, v in enumerate(node.inputs)
        ]
        graph.outputs = list(graph.emit(node.primitive, inputs, node.attrs))
        shapes = [tuple(env[size.attr] for size in v.shape) for v in node.inputs]
        steps, written = as_run(graph, shapes), graph_cost(graph, env)
        run = total(steps)
        assert run.operations == written.operations, seed
        assert run.bytes_read == written.bytes_read, seed
        if len(steps) == 1:  # otherwise one number is stored, then expanded
            assert run.bytes_written == written.bytes_written, seed
        compared += 1
    assert compared > 150


def steps_of(name, shapes, *arguments):
    tensors = [TensorLike("float32", shape) for shape in shapes]
    op = declared_graph(REGISTRY[name], [*tensors, *arguments])
    lowered = op.lower()
    values = [*([None] * len(shapes)), *arguments]
    return plan_cost(lowered.plan, lowered.kernels, shapes, values)


def test_fused_rows_store_nothing_between_their_passes():
    (step,) = steps_of("softmax.int", [(128, 1000)], -1, None)
    assert step.kind == "rows"
    assert step.cost.bytes_read == step.cost.bytes_written == 4 * 128 * 1000
    # max; subtract, exp, add; subtract, exp, divide
    assert step.cost.operations["elementary"] == 2 * 128 * 1000
    assert step.cost.flops == 7 * 128 * 1000


def test_blocks_keep_scores_out_of_memory_and_triangles_leave_columns_out():
    shapes = [(2, 4, 256, 64)] * 3
    arguments = (None, 0.0, False, None, False)
    whole = total(steps_of("scaled_dot_product_attention", shapes, *arguments))
    assert whole.products == 2 * 2 * (2 * 4 * 256 * 256 * 64)
    tensor = 4 * 2 * 4 * 256 * 64
    assert whole.bytes_read == 3 * tensor and whole.bytes_written == tensor
    causal = (None, 0.0, True, None, False)
    part = total(steps_of("scaled_dot_product_attention", shapes, *causal))
    # pieces of 64 rows: 64 + 128 + 192 + 256 columns of 4 x 256
    assert part.products == whole.products * 640 // 1024


def test_a_recurrence_costs_its_step_for_each_element():
    names = [name for name in REGISTRY if name == "cumsum"]
    assert names
    (step,) = steps_of("cumsum", [(5, 7)], 0, None)
    assert step.kind == "scan" and step.cost.operations["arithmetic"] == 35
