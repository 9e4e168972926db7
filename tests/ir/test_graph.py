"""Graphs: printing, verification, pruning, requirements, half precision, fusion."""

import numpy as np
import pytest

from pellucid_compiler.ir.build import element, emit_loop, emit_map
from pellucid_compiler.ir.expr import axis, const, load, make, select, sym
from pellucid_compiler.ir.graph import (
    Graph,
    Node,
    Requirement,
    Value,
    VerificationError,
)
from pellucid_compiler.ir.interpret import run
from pellucid_compiler.ir.kinds import kind_of, view_map
from pellucid_compiler.ir.primitives import (
    LOOP,
    RESHAPE,
    LoopAttrs,
    ReshapeAttrs,
    Store,
)
from pellucid_compiler.ir.verify import verify
from pellucid_compiler.passes import fuse, split_ranges, widen_halves
from pellucid_compiler.transforms import vjp

from .support import graph_of, normal

ROW, COL, K = axis(0), axis(1), axis(2)


def softmax_rows(graph, x):
    top = emit_loop(
        graph, x.shape, [Store((ROW,), element(x, (ROW, COL)))], "max", x.shape[:1]
    )
    e = emit_map(
        graph,
        x.shape,
        lambda i, j: make("exp", element(x, (i, j)) - element(top, (i,))),
    )
    total = emit_loop(
        graph, x.shape, [Store((ROW,), element(e, (ROW, COL)))], shape=x.shape[:1]
    )
    return emit_map(
        graph, x.shape, lambda i, j: element(e, (i, j)) / element(total, (i,))
    )


GOLDEN = """\
f(x0: f32[x0.0, x0.1]):
  t0: f32[x0.0] = reduce(i<x0.0, j<x0.1) [i] max= x0[i, j]
  t1: f32[x0.0, x0.1] = map(i<x0.0, j<x0.1) [i, j] = exp((x0[i, j] - t0[i]))
  t2: f32[x0.0] = reduce(i<x0.0, j<x0.1) [i] += t1[i, j]
  t3: f32[x0.0, x0.1] = map(i<x0.0, j<x0.1) [i, j] = (t1[i, j] / t2[i])
  return t3"""

FUSED = """\
f.fused(x0: f32[x0.0, x0.1]):
  t0: f32[x0.0] = reduce(i<x0.0, j<x0.1) [i] max= x0[i, j]
  t1: f32[x0.0] = reduce(i<x0.0, j<x0.1) [i] += exp((x0[i, j] - t0[i]))
  t2: f32[x0.0, x0.1] = map(i<x0.0, j<x0.1) [i, j] = (exp((x0[i, j] - t0[i])) / t1[i])
  return t2"""

MATMUL_BACKWARD = """\
f.vjp(x0: f32[x0.0, x0.1], x1: f32[x1.0, x1.1], grad: f32[x0.0, x1.1]):
  t0: f32[x0.0, x0.1] = contraction(i<x0.0, j<x0.1, k<x1.1) [i, j] += \
(x1[j, k] * grad[i, k])
  return t0"""


def test_printed_graph():
    assert repr(graph_of(softmax_rows, (2, "float32"))) == GOLDEN


def test_printed_fused_graph():
    assert repr(fuse(graph_of(softmax_rows, (2, "float32")))) == FUSED


def test_printed_gradient_of_a_product():
    def product(graph, a, b):
        body = element(a, (ROW, K)) * element(b, (K, COL))
        extents = (a.shape[0], b.shape[1], a.shape[1])
        return emit_loop(graph, extents, [Store((ROW, COL), body)])

    graph = graph_of(product, (2, "float32"), (2, "float32"))
    assert repr(vjp(graph, [0])) == MATMUL_BACKWARD


def test_a_costly_value_is_computed_once_though_a_middle_axis_repeats_it():
    def weighted(graph, x, y):
        whole = emit_map(graph, y.shape, lambda i, k: make("exp", element(y, (i, k))))
        body = element(x, (ROW, COL, K)) * element(whole, (ROW, K))
        return emit_loop(graph, x.shape, [Store((ROW, COL), body)])

    graph = fuse(graph_of(weighted, (3, "float32"), (2, "float32")))
    kept, loop = repr(graph).splitlines()[1:3]
    assert "exp" in kept
    assert "exp" not in loop


def test_fusion_keeps_the_values():
    graph, x = graph_of(softmax_rows, (2, "float64")), normal(3, 4)
    assert (run(graph, [x])[0] == run(fuse(graph), [x])[0]).all()


def test_equal_calls_are_one_node_and_dead_ones_go():
    def build(graph, x):
        first = emit_map(graph, x.shape, lambda i: element(x, (i,)) * 2.0)
        second = emit_map(graph, x.shape, lambda i: element(x, (i,)) * 2.0)
        emit_map(graph, x.shape, lambda i: element(x, (i,)) * 3.0)
        assert first is second
        return first

    assert len(graph_of(build, (1, "float32")).nodes) == 1


def broken(attrs, dtype="float32"):
    graph = Graph("broken")
    x = graph.input([sym("x.0")], dtype)
    graph.outputs = list(graph.emit(LOOP, [x], attrs))
    return graph


N = sym("x.0")


@pytest.mark.parametrize(
    "attrs,message",
    [
        (
            LoopAttrs((N,), (Store((ROW,), load(0, (ROW,), "float64")),), "sum", (N,)),
            "load",
        ),
        (
            LoopAttrs(
                (N,), (Store((ROW,), load(0, (ROW, ROW), "float32")),), "sum", (N,)
            ),
            "rank 1",
        ),
        (
            LoopAttrs((N,), (Store((ROW,), load(1, (ROW,), "float32")),), "sum", (N,)),
            "operand",
        ),
        (
            LoopAttrs((N,), (Store((ROW,), load(0, (COL,), "float32")),), "sum", (N,)),
            "axis 1",
        ),
        (
            LoopAttrs((N,), (Store((), load(0, (ROW,), "float32")),), "sum", (N,)),
            "indices",
        ),
        (
            LoopAttrs((N,), (Store((ROW,), load(0, (ROW,), "float32")),), "mean", (N,)),
            "combine",
        ),
        (
            LoopAttrs(
                (N,), (Store((ROW,), load(0, (ROW,), "float32")),), "argmax", (N,)
            ),
            "payload",
        ),
    ],
)
def test_verifier_rejects_a_broken_loop(attrs, message):
    with pytest.raises(VerificationError, match=message):
        verify(broken(attrs))


def test_verifier_rejects_an_undefined_value():
    graph = Graph("broken")
    stranger = Value([N], "float32")
    graph.nodes.append(Node(RESHAPE, (stranger,), ReshapeAttrs((N,))))
    with pytest.raises(VerificationError, match="not defined"):
        verify(graph)


def test_requirement_names_the_values_given():
    graph = graph_of(
        lambda g, x: emit_map(g, x.shape, lambda i: element(x, (i,))), (1, "float32")
    )
    size = graph.inputs[0].shape[0]
    message = "size {} is not even"
    graph.require(Requirement(size % 2 == 0, message, (size,), ValueError))
    with pytest.raises(ValueError, match="size 3 is not even"):
        run(graph, [np.ones(3, "float32")])


def test_half_precision_is_rounded_once_at_the_end():
    graph = graph_of(softmax_rows, (2, "float16"))
    wide = verify(widen_halves(graph))
    assert [v.dtype for n in wide.nodes for v in n.outputs][-1] == "float16"
    assert {v.dtype for n in wide.nodes[:-1] for v in n.outputs} == {"float32"}
    x = normal(3, 4).astype("float16")
    exact = np.exp(x.astype("float32") - x.astype("float32").max(1, keepdims=True))
    exact /= exact.sum(1, keepdims=True)
    np.testing.assert_array_equal(run(wide, [x])[0], exact.astype("float16"))


def test_view_map_reads_offset_and_steps():
    def build(graph, x):
        return emit_map(
            graph, (x.shape[1], const(2)), lambda i, j: element(x, (3 + j * 2, i))
        )

    (node,) = graph_of(build, (2, "float32")).nodes
    assert kind_of(node) == "view"
    actual = view_map(node)
    assert [repr(o) for o in actual.offset] == ["3", "0"]
    assert [[repr(s) for s in step] for step in actual.steps] == [
        ["0", "1"],
        ["2", "0"],
    ]


def test_kinds_are_read_off_the_loops():
    def build(graph, x, index):
        rows = index.shape[0]
        gathered = emit_map(
            graph,
            (rows, x.shape[1]),
            lambda i, j: element(x, (element(index, (i,)), j)),
        )
        store = Store((element(index, (ROW,)), COL), element(gathered, (ROW, COL)))
        scattered = emit_loop(graph, gathered.shape, [store], shape=x.shape)
        return gathered, scattered

    graph = graph_of(build, (2, "float32"), (1, "int64"))
    assert [kind_of(n) for n in graph.nodes] == ["gather", "scatter"]


def test_piecewise_map_splits_into_its_parts():
    def joined(graph, x, y):
        size = x.shape[0]

        def body(i):
            return select(i < size, element(x, (i,)), element(y, (i - size,)))

        return emit_map(graph, (size + y.shape[0],), body)

    graph = graph_of(joined, (1, "float64"), (1, "float64"))
    parts = verify(split_ranges(graph))
    assert [kind_of(n) for n in parts.nodes] == ["store", "store"]
    x, y = normal(3), normal(4, seed=1)
    np.testing.assert_array_equal(run(parts, [x, y])[0], np.concatenate([x, y]))
    assert [kind_of(n) for n in vjp(graph, [0, 1]).nodes] == ["view", "view"]
