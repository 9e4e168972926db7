"""The rules of the six primitives, checked numerically."""

import numpy as np
import pytest

from pellucid_compiler.ir.build import (
    element,
    emit_loop,
    emit_map,
    emit_reshape,
    padded_element,
)
from pellucid_compiler.ir.expr import axis, cast, const, make, select, sym
from pellucid_compiler.ir.graph import Graph
from pellucid_compiler.ir.interpret import run
from pellucid_compiler.ir.primitives import (
    NONZERO,
    SCAN,
    NonzeroAttrs,
    ScanAttrs,
    Store,
)
from pellucid_compiler.ir.verify import verify
from pellucid_compiler.transforms import backward, batch, jvp, vjp

from .support import graph_of, normal

ROW, COL = axis(0), axis(1)
F64 = "float64"


def square_rows(graph, x):
    """sum of squares along rows"""
    store = Store((ROW,), element(x, (ROW, COL)) * element(x, (ROW, COL)))
    return emit_loop(graph, x.shape, [store], shape=x.shape[:1])


def greatest(graph, x):
    return emit_loop(
        graph, x.shape, [Store((ROW,), element(x, (ROW, COL)))], "max", x.shape[:1]
    )


def product_of_rows(graph, x):
    store = Store((ROW,), element(x, (ROW, COL)))
    return emit_loop(graph, x.shape, [store], "prod", x.shape[:1])


def flattened(graph, x):
    return emit_reshape(graph, x, [x.shape[0] * x.shape[1]])


def padded_difference(graph, x):
    return emit_map(
        graph,
        x.shape,
        lambda i, j: element(x, (i, j)) - padded_element(x, (i, j - 1), 2.0),
    )


def guarded(graph, x):
    return emit_map(
        graph,
        x.shape,
        lambda i, j: select(j > 0, element(x, (i, j)) * element(x, (i, j - 1)), 1.0),
    )


def running_product(graph, x):
    step = Graph("step")
    carry = step.input(x.shape[1:], F64)
    now = step.input(x.shape[1:], F64)
    step.outputs = [
        emit_map(step, carry.shape, lambda j: element(carry, (j,)) * element(now, (j,)))
    ]
    start = emit_map(graph, x.shape[1:], lambda j: const(1.0, F64))
    return graph.emit(SCAN, [start, x], ScanAttrs(step, x.shape[0], False, 1))


def two_stores(graph, x):
    """every element goes to two places of a longer row"""
    rows, cols = x.shape
    value = element(x, (ROW, COL))
    stores = [
        Store((ROW, COL * COL % (cols + 1)), value),
        Store((ROW, (COL * COL + 1) % (cols + 1)), value * 2.0),
    ]
    return emit_loop(graph, x.shape, stores, shape=(rows, cols + 1))


def assigned(graph, x):
    """the first row replaced by a product"""
    value = element(x, (ROW * 0, ROW)) * 3.0
    return emit_loop(
        graph, x.shape[1:], [Store((ROW * 0, ROW), value)], "assign", x.shape, init=x
    )


SMOOTH = [
    square_rows,
    greatest,
    product_of_rows,
    flattened,
    padded_difference,
    guarded,
    running_product,
    two_stores,
    assigned,
]


@pytest.mark.parametrize("build", SMOOTH)
def test_derivatives_of_a_primitive(build):
    graph = graph_of(build, (2, F64))
    x, move = normal(3, 4), normal(3, 4, seed=1)
    y = run(graph, [x])[0]
    tangent = run(verify(jvp(graph, [0])), [x, move])[0]
    step = 1e-6
    ahead, behind = (run(graph, [x + s * move])[0] for s in (step, -step))
    np.testing.assert_allclose(tangent, (ahead - behind) / (2 * step), atol=1e-7)
    ct = normal(*y.shape, seed=2)
    for back in (
        run(verify(vjp(graph, [0])), [x, ct]),
        run(verify(backward(graph, [0])), [x, y, ct]),
    ):
        np.testing.assert_allclose((back[0] * move).sum(), (ct * tangent).sum())


@pytest.mark.parametrize("build", SMOOTH)
def test_batching_a_primitive(build):
    graph = graph_of(build, (2, F64))
    xs = normal(5, 3, 4)
    many = verify(batch(graph, [True], sym("batch.0")))
    got = run(many, [xs], {"batch.0": 5})[0]
    np.testing.assert_allclose(got, np.stack([run(graph, [x])[0] for x in xs]))


def test_product_of_zeros_has_exact_gradients():
    graph = graph_of(running_product, (2, F64))
    x = np.array([[2.0], [0.0], [3.0], [0.0]])
    (dx,) = run(vjp(graph, [0]), [x, np.ones((4, 1))])
    assert dx.ravel().tolist() == [1.0, 2.0 + 6.0, 0.0, 0.0]


def test_a_single_zero_factor_has_the_product_of_the_others():
    graph = graph_of(product_of_rows, (2, F64))
    (dx,) = run(
        vjp(graph, [0]), [np.array([[2.0, 0.0, 3.0], [0.0, 0.0, 5.0]]), np.ones(2)]
    )
    assert dx.tolist() == [[0.0, 6.0, 0.0], [0.0, 0.0, 0.0]]


def test_ties_share_the_gradient_of_a_maximum():
    graph = graph_of(greatest, (2, F64))
    (dx,) = run(vjp(graph, [0]), [np.array([[1.0, 3.0, 3.0]]), np.ones(1)])
    assert dx.tolist() == [[0.0, 0.5, 0.5]]


def test_store_out_of_bounds_is_an_error_unless_dropped():
    def shifted(drop):
        def build(graph, x):
            store = Store((ROW + 1,), element(x, (ROW,)), drop)
            return emit_loop(graph, x.shape, [store], "assign", x.shape)

        return graph_of(build, (1, F64))

    assert run(shifted(True), [np.arange(3.0)])[0].tolist() == [0, 0, 1]
    with pytest.raises(IndexError):
        run(shifted(False), [np.arange(3.0)])


def test_nonzero_binds_its_count():
    def build(graph, x):
        mask = emit_map(graph, x.shape, lambda i, j: element(x, (i, j)) > 0)
        (actual,) = graph.emit(NONZERO, [mask], NonzeroAttrs(graph.fresh_count()))
        return emit_map(
            graph, actual.shape[:1], lambda n: cast(element(actual, (n, 0)), F64)
        )

    got = run(graph_of(build, (2, F64)), [np.array([[1.0, -1.0], [2.0, 3.0]])])[0]
    assert got.tolist() == [0.0, 1.0, 1.0]


def test_tangent_reads_the_output_where_it_contains_the_body():
    graph = graph_of(
        lambda g, x: emit_map(g, x.shape, lambda i: make("tanh", element(x, (i,)))),
        (1, F64),
    )
    back = backward(graph, [0])
    assert back.used_inputs() == [1, 2]
