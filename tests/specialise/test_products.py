"""Which loops become matrix products, and with what ends."""

import numpy as np
import pytest

from pellucid_compiler.abi.plan import (
    FillStep,
    GemmStep,
    NestStep,
)
from pellucid_compiler.ir.build import element, emit_loop, emit_map
from pellucid_compiler.ir.expr import axis, cast, const, padded_load, select, sym
from pellucid_compiler.ir.graph import Graph
from pellucid_compiler.ir.interpret import run
from pellucid_compiler.ir.primitives import Store
from pellucid_compiler.ir.verify import verify
from pellucid_compiler.lower.graph import lower_graph
from pellucid_compiler.passes.products import split_products

ROW, COLUMN, DEPTH = (axis(k) for k in range(3))


def matrices(graph, *names):
    return [
        graph.input([sym(f"{name}.0"), sym(f"{name}.1")], "float32", name)
        for name in names
    ]


@pytest.mark.parametrize("rows_left_out", [0, 1])
def test_only_a_map_over_the_whole_product_is_its_end(rows_left_out):
    graph = Graph("f")
    a, b = matrices(graph, "a", "b")
    bias = graph.input([sym("bias.0")], "float32", "bias")
    body = element(a, [ROW, DEPTH]) * element(b, [DEPTH, COLUMN])
    extents = [a.shape[0], b.shape[1], a.shape[1]]
    product = emit_loop(graph, extents, [Store((ROW, COLUMN), body)])

    def biased(i, j):
        return element(product, [i, j]) + element(bias, [j])

    rows = a.shape[0] - rows_left_out
    graph.outputs = [emit_map(graph, [rows, b.shape[1]], biased)]
    steps = lower_graph(verify(graph), {}, name="f").plan.steps
    kinds = [type(step) for step in steps]
    assert kinds == ([GemmStep, NestStep] if rows_left_out else [GemmStep])


@pytest.mark.parametrize("reads_beyond", [False, True])
def test_every_load_under_a_guard_stays_guarded(reads_beyond):
    graph = Graph("f")
    (a,) = matrices(graph, "a")
    b = graph.input([a.shape[1], sym("b.1")], "float32", "b")
    place = DEPTH - 1
    inside = (const(0) <= place) & (place < a.shape[1])
    body = element(a, [ROW, place]) * element(b, [place, COLUMN])
    extents = [a.shape[0], b.shape[1], a.shape[1] + 2]
    store = Store((ROW, COLUMN), select(inside, body, const(0.0, "float32")))
    graph.outputs = [emit_loop(graph, extents, [store])]
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    y = np.arange(12, dtype=np.float32).reshape(3, 4)
    split = split_products(verify(graph), lambda _: reads_beyond)
    (got,) = run(split, [x, y])
    np.testing.assert_array_equal(got, x @ y)


def converted(graph, value, dtype, order=(0, 1)):
    """A copy of a matrix in another dtype, and perhaps transposed."""
    shape = [value.shape[dim] for dim in order]
    return emit_map(
        graph,
        shape,
        lambda *p: cast(element(value, [p[order.index(d)] for d in (0, 1)]), dtype),
    )


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("rounds", [True, False])
def test_halves_are_multiplied_where_their_sum_is_rounded(rounds, order):
    graph = Graph("f")
    a = graph.input([sym("a.0"), sym("a.1")], "bfloat16", "a")
    b = graph.input([a.shape[1], sym("b.1")], "bfloat16", "b")
    wide = [converted(graph, value, "float32") for value in (a, b)]
    body = element(wide[0], [ROW, DEPTH]) * element(wide[1], [DEPTH, COLUMN])
    extents = [a.shape[0], b.shape[1], a.shape[1]]
    product = emit_loop(graph, extents, [Store((ROW, COLUMN), body)])
    result = converted(graph, product, "bfloat16", order) if rounds else product
    graph.outputs = [result]
    lowered = lower_graph(verify(graph), {}, name="f")
    (gemm,) = (s for s in lowered.plan.steps if isinstance(s, GemmStep))
    assert len(lowered.plan.steps) == (1 if rounds else 3)
    factors = lowered.kernels[gemm.kernel.id].inputs[:2]
    assert set(factors) == {"bfloat16" if rounds else "float32"}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("guards_product", [False, True])
def test_a_conversion_hides_no_padding(dtype, guards_product):
    graph = Graph("f")
    a = graph.input([sym("a.0"), sym("a.1")], dtype, "a")
    b = graph.input([a.shape[1] + 2, sym("b.1")], dtype, "b")
    wide_a, wide_b = (converted(graph, value, "float32") for value in (a, b))
    place, zero = DEPTH - 1, const(0.0, "float32")
    inside = (const(0) <= place) & (place < a.shape[1])
    first, second = element(wide_a, [ROW, place]), element(wide_b, [DEPTH, COLUMN])
    guarded = select(inside, first * second, zero)
    body = guarded if guards_product else select(inside, first, zero) * second
    extents = [a.shape[0], b.shape[1], b.shape[0]]
    product = emit_loop(graph, extents, [Store((ROW, COLUMN), body)])
    graph.outputs = [
        emit_map(
            graph, product.shape, lambda i, j: cast(element(product, [i, j]), dtype)
        )
    ]
    steps = lower_graph(verify(graph), {}, name="f").plan.steps
    assert sum(isinstance(step, GemmStep) for step in steps) == 1


def test_padding_of_halves_is_a_fill_and_a_copy():
    graph = Graph("f")
    a = graph.input([sym("a.0"), sym("a.1")], "bfloat16", "a")
    wide = converted(graph, a, "float32")
    shape = [a.shape[0], a.shape[1] + 2]
    zero = const(0.25, "float32")
    padded = emit_map(
        graph, shape, lambda i, j: padded_load(wide, [i, j - 1], zero, "float32")
    )
    graph.outputs = [converted(graph, padded, "bfloat16")]
    steps = lower_graph(verify(graph), {}, name="f").plan.steps
    assert [type(step) for step in steps] == [FillStep, NestStep]
    assert steps[1].form == "map"
