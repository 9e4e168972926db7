"""Affine scatters solved into gathers give the same sums."""

import itertools

import numpy as np
import pytest

from pellucid_compiler.ir.affine import Bounds, linear_in, simplify
from pellucid_compiler.ir.build import element, emit_loop, padded_element
from pellucid_compiler.ir.expr import axis, const, sym
from pellucid_compiler.ir.interpret import run
from pellucid_compiler.ir.kinds import kind_of
from pellucid_compiler.ir.primitives import Store
from pellucid_compiler.transforms import vjp

from .support import graph_of, normal

ROW, COL, K, L, M = (axis(k) for k in range(5))
STRIDE, DILATION = sym("stride"), sym("dilation")


def scattered(index, shape, extents):
    """The Graph that adds x0 into a zero tensor at ``index``."""
    axes = [axis(k) for k in range(len(extents))]

    def build(graph, x):
        store = Store(index, element(x, axes), True)
        return emit_loop(graph, x.shape, [store], shape=shape)

    return graph_of(build, (len(extents), "float64"))


AFFINE = {
    "shifted": ((ROW + 2,), (8,), (5,)),
    "strided": ((ROW * 3,), (14,), (5,)),
    "reversed": ((6 - ROW,), (8,), (5,)),
    "diagonal": ((ROW, ROW), (5, 5), (5,)),
    "exchanged": ((COL, ROW), (4, 5), (5, 4)),
    "windows": ((ROW + COL,), (8,), (5, 4)),
    "strided windows": ((ROW * 2 + COL,), (12,), (5, 3)),
    "fixed": ((const(1), ROW), (3, 5), (5,)),
    "summed": ((ROW,), (5,), (5, 4)),
    "out of range": ((ROW - 2,), (3,), (6,)),
}

# Injective stores and strided moves stay stores, if solving them would leave a guard.
STORES = (
    "shifted",
    "strided",
    "diagonal",
    "exchanged",
    "strided windows",
    "fixed",
    "out of range",
)


@pytest.mark.parametrize("case", AFFINE)
def test_gather_gives_the_same_as_scatter(case):
    index, shape, extents = AFFINE[case]
    graph = scattered(index, [const(n) for n in shape], extents)
    actual = {kind_of(n) for n in graph.nodes}
    assert actual == {"store"} if case in STORES else "store" not in actual
    assert "scatter" not in actual
    x, want = normal(*extents), np.zeros(shape)
    for point in itertools.product(*map(range, extents)):
        place = tuple(_at(i, point) for i in index)
        if all(0 <= p < n for p, n in zip(place, shape, strict=True)):
            want[place] += x[point]
    np.testing.assert_allclose(run(graph, [x])[0], want, rtol=1e-12)


def _at(index, point):
    from pellucid_compiler.ir.evaluate import evaluate

    return int(evaluate(index, {}, [np.asarray(p) for p in point]))


def convolution(stride, dilation):
    """A one-dimensional convolution with padding 1."""

    def build(graph, x, weight):
        reach = dilation * (weight.shape[2] - 1)
        size = (x.shape[2] + 2 - reach - 1) // stride + 1
        place = K * stride + M * dilation - 1
        body = element(weight, (COL, L, M)) * padded_element(x, (ROW, L, place), 0)
        extents = (x.shape[0], weight.shape[0], size, weight.shape[1], weight.shape[2])
        shape = (x.shape[0], weight.shape[0], size)
        return emit_loop(graph, extents, [Store((ROW, COL, K), body)], shape=shape)

    return graph_of(build, (3, "float64"), (3, "float64"))


def correlate(x, weight, stride, dilation):
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1)))
    reach = dilation * (weight.shape[2] - 1)
    starts = range(0, padded.shape[2] - reach, stride)
    windows = [padded[:, :, s : s + reach + 1 : dilation] for s in starts]
    return np.stack([np.einsum("bcm,ocm->bo", w, weight) for w in windows], 2)


@pytest.mark.parametrize(
    "stride,dilation,values",
    [
        (STRIDE, const(1), [(1, 1), (2, 1), (3, 1)]),
        (const(1), DILATION, [(1, 1), (1, 2)]),
        (STRIDE, DILATION, [(2, 2), (3, 2)]),
    ],
)
def test_convolution_gradients_are_contractions(stride, dilation, values):
    graph = convolution(stride, dilation)
    back = vjp(graph, [0, 1])
    is_strided = stride is STRIDE
    kinds = {"contraction", "map", "store"} if is_strided else {"contraction", "map"}
    assert {kind_of(n) for n in back.nodes} <= kinds
    for (s, d), taps in itertools.product(values, (1, 2, 3, 5)):
        x, weight = normal(2, 3, 11), normal(4, 3, taps, seed=1)
        env = {"stride": s, "dilation": d}
        y = run(graph, [x, weight], env)[0]
        np.testing.assert_allclose(y, correlate(x, weight, s, d), rtol=1e-10)
        ct = normal(*y.shape, seed=2)
        dx, dw = run(back, [x, weight, ct], env)
        move = normal(*x.shape, seed=3)
        moved = correlate(move, weight, s, d)
        np.testing.assert_allclose((dx * move).sum(), (ct * moved).sum(), rtol=1e-10)
        turn = normal(*weight.shape, seed=4)
        turned = correlate(x, turn, s, d)
        np.testing.assert_allclose((dw * turn).sum(), (ct * turned).sum(), rtol=1e-10)


def test_strided_gradient_visits_each_tap_of_each_output_once():
    forward = convolution(STRIDE, const(1))
    (product,) = forward.nodes
    (loop,) = vjp(forward, [0]).nodes
    assert kind_of(loop) == "store"
    assert {*loop.attrs.extents} == {*product.attrs.extents}


@pytest.mark.parametrize("extents", [(3, 40), (40, 3)])
def test_sums_of_windows_are_solved_for_the_longer_axis(extents):
    # the remaining sum is over the windows' three taps, not all positions
    def build(graph, x):
        store = Store((ROW + COL,), element(x, (ROW, COL)), True)
        return emit_loop(graph, map(const, extents), [store], shape=[const(42)])

    (loop,) = graph_of(build, (2, "float64")).nodes
    assert sorted(n.attr for n in loop.attrs.extents) == [3, 42]


def test_affine_parts_and_proofs():
    n = sym("x.0")
    assert linear_in(3 * ROW + COL * n - 2, 0)[0].attr == 3
    assert linear_in(ROW * ROW, 0) is None
    assert simplify(ROW + n - ROW) is n
    bounds = Bounds([n - 2, const(3)])
    assert bounds.is_inside(ROW + COL, n)
    assert not bounds.is_inside(ROW + COL + 1, n)
    assert not bounds.is_inside(ROW + sym("start"), n)


def test_proofs_from_what_is_required():
    n, m = sym("x.0"), sym("y.0")
    assert not Bounds([n]).is_inside(ROW, m)
    for required, holds in ((n <= m, 0), (n < m, 1), (n <= m - 3, 3), (n - 2 <= m, -2)):
        bounds = Bounds([n], [required])
        assert bounds.is_inside(ROW, m) == (holds >= 0)
        assert bounds.is_less(ROW + holds, m)
        assert not bounds.is_less(ROW + holds + 1, m)
    assert not Bounds([n], [m <= n]).is_inside(ROW, m)


@pytest.mark.parametrize("drop", [False, True])
@pytest.mark.parametrize("place", ["start", "start + axis"])
def test_a_loaded_index_is_checked_by_its_store(place, drop):
    def build(graph, x, start):
        at = element(start, ()) + (ROW if "axis" in place else 0)
        store = Store((at,), element(x, (ROW,)), drop)
        return emit_loop(graph, x.shape, [store], shape=(const(4),))

    graph = graph_of(build, (1, "float64"), (0, "int64"))
    kinds = {kind_of(node) for node in graph.nodes}
    assert drop or kinds == {"scatter"}
    x = np.ones(1)
    assert run(graph, [x, np.int64(2)])[0].tolist() == [0, 0, 1, 0]
    if drop:
        assert run(graph, [x, np.int64(7)])[0].tolist() == [0] * 4
    else:
        with pytest.raises(IndexError):
            run(graph, [x, np.int64(7)])
