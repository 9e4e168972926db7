"""The plans of a few ops and of their derivatives, as files to read and to see change.

``PELLUCID_UPDATE_GOLDEN=1 pytest tests/specialise/test_plans.py`` rewrites them.
"""

import math
import os
from pathlib import Path

import pytest

import pellucid_compiler.catalogue  # noqa: F401 - fills the registry
from pellucid_compiler.abi.plan import (
    GeneralStep,
)
from pellucid_compiler.declare.op import REGISTRY
from pellucid_compiler.ir.build import emit_loop
from pellucid_compiler.ir.expr import axis, padded_load, sym
from pellucid_compiler.ir.graph import Graph
from pellucid_compiler.ir.primitives import Store
from pellucid_compiler.ir.verify import verify
from pellucid_compiler.lower.graph import lower_graph
from pellucid_compiler.lower.plan import (
    show_plan,
)
from pellucid_compiler.specialise.derivatives import derive, saving_forward
from pellucid_compiler.specialise.graphs import declared_graph
from pellucid_compiler.specialise.requests import TensorLike

GOLDEN = Path(__file__).parent / "golden"
HEADS = TensorLike("float32", (2, 3, 5, 4))
ROWS = TensorLike("float32", (6, 5))
WEIGHT = TensorLike("float32", (5,))
BATCHES = TensorLike("float32", (2, 6, 4))
WEIGHTS = TensorLike("float32", (5, 4))
IMAGES = TensorLike("float32", (2, 3, 8, 8))
CHANNELS = TensorLike("float32", (3,))
KERNELS = TensorLike("float32", (4, 3, 3, 3))
STEPS, STATE = TensorLike("float32", (7, 3, 20)), TensorLike("float32", (3, 5))
STATE_WEIGHT = TensorLike("float32", (20, 5))
LABELS = TensorLike("int64", (6,))
CALLS = {
    "attention": (
        "scaled_dot_product_attention",
        (HEADS, HEADS, HEADS, None, 0.0, True),
    ),
    "layer_norm": ("layer_norm", (ROWS, [5], WEIGHT, WEIGHT, 1e-5)),
    "cross_entropy": ("cross_entropy_loss", (ROWS, LABELS)),
    "batch_norm": (
        "pellucid::_batch_norm_with_batch",
        (IMAGES, CHANNELS, CHANNELS, 1e-5),
    ),
    "max_pool": ("max_pool2d", (IMAGES, [2, 2])),
    "avg_pool": ("avg_pool2d", (IMAGES, [3, 3], [2, 2], [1, 1])),
    "bilinear": ("upsample_bilinear2d", (IMAGES, [16, 16], False)),
    "tril": ("tril", (ROWS, 0)),
    "cumsum": ("cumsum", (ROWS, 1)),
    "lstm": ("pellucid::_lstm", (STEPS, STATE, STATE, STATE_WEIGHT, None, None, False)),
    "linear": ("linear", (BATCHES, WEIGHTS, WEIGHT)),
    "convolution": ("conv2d", (IMAGES, KERNELS, None, [1, 1], [1, 1], [1, 1], 1)),
    "strided_convolution": ("conv2d", (IMAGES, KERNELS, None, [2, 2])),
    "cat": ("cat", ([ROWS, ROWS], 1)),
    "pad": ("constant_pad_nd", (ROWS, [1, 2], 0.5)),
    "slice": ("slice.Tensor", (ROWS, 1, 1, 3, 2)),
    "diagonal": ("diagonal", (ROWS, 0, 0, 1)),
}


def check(name, text):
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("PELLUCID_UPDATE_GOLDEN"):
        path.write_text(text)
    assert text == path.read_text(), f"{path.name} changed; update it if that was meant"


@pytest.mark.parametrize("name", CALLS)
def test_the_plan_is_the_golden_one(name):
    op, arguments = CALLS[name]
    graph = declared_graph(REGISTRY[op], arguments)
    check(name, show_plan(graph.lower().plan) + "\n")


@pytest.mark.parametrize("name", CALLS)
def test_the_plan_of_the_derivative_is_the_golden_one(name):
    op, arguments = CALLS[name]
    graph = declared_graph(REGISTRY[op], arguments)
    derivative = derive(graph, (1 << len(graph.places)) - 1)
    check(f"{name}_vjp", show_plan(derivative.op.lower().plan) + "\n")


@pytest.mark.parametrize(
    ("dims", "dtype"),
    [
        *((dims, dtype) for dims in (1, 2, 3) for dtype in ("float32", "bfloat16")),
        *((dims, "int64") for dims in (2, 3)),  # refused of rows, as by PyTorch
    ],
)
@pytest.mark.parametrize("padding", [0, 1])
def test_max_pooling_seeks_values_and_places_in_one_nest(dims, dtype, padding):
    images = TensorLike(dtype, (2, 3, *(9, 8, 7)[:dims]))
    options = [3] * dims, [2] * dims, [padding] * dims, [2] * dims, True
    graph = declared_graph(REGISTRY[f"max_pool{dims}d"], (images, *options))
    steps = saving_forward(graph).lower().plan.steps
    (nest,) = [step for step in steps if isinstance(step, GeneralStep)]
    assert len(nest.outputs) == 2


def test_searches_over_different_windows_are_two_nests():
    graph = Graph("f")
    x = graph.input([sym("x.0"), sym("x.1")], "float32", "x")
    actual = []
    for dim, combine in enumerate(("max", "argmax")):
        place = [axis(0), axis(0)]
        place[dim] = axis(0) + axis(1)
        body = padded_load(x, place, -math.inf, "float32")
        space, store = (x.shape[dim], 3), Store((axis(0),), body)
        payload = axis(1) if combine == "argmax" else None
        actual.append(
            emit_loop(graph, space, [store], combine, space[:1], payload=payload)
        )
    graph.outputs = actual
    steps = lower_graph(verify(graph), {}, name="f").plan.steps
    assert [len(step.outputs) for step in steps] == [1, 1]
    assert all(isinstance(step, GeneralStep) for step in steps)
