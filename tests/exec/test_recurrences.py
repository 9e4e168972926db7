"""Plans of recurrences: independent lanes, and values that are not stacked."""

import pytest

import pellucid_compiler.catalogue  # noqa: F401 - fills the registry
from pellucid_compiler.abi.plan import (
    CopyStep,
    GemmStep,
    NestStep,
    RecurrenceStep,
)
from pellucid_compiler.declare.op import REGISTRY
from pellucid_compiler.ir.build import element, emit_map, emit_scan
from pellucid_compiler.ir.expr import sym
from pellucid_compiler.ir.graph import Graph
from pellucid_compiler.ir.primitives import ScanAttrs
from pellucid_compiler.lower.graph import lower_graph
from pellucid_compiler.specialise.derivatives import derive
from pellucid_compiler.specialise.graphs import declared_graph
from pellucid_compiler.specialise.requests import TensorLike

GATES = {"pellucid::_lstm": 4, "pellucid::_gru": 3, "pellucid::_rnn": 1}
TIME, BATCH, SIZE = 7, 3, 5


def recurrence(plan):
    (step,) = [step for step in plan.steps if isinstance(step, RecurrenceStep)]
    return step


def layer_graph(name, batch=BATCH, reverse=False):
    rows = GATES[name] * SIZE
    x = TensorLike("float32", (TIME, batch, rows))
    states = [TensorLike("float32", (batch, SIZE))] * (
        2 if name == "pellucid::_lstm" else 1
    )
    weight = TensorLike("float32", (rows, SIZE))
    rest = {
        "pellucid::_lstm": (None, None, reverse),
        "pellucid::_gru": (None, None, reverse),
    }
    return declared_graph(
        REGISTRY[name], (x, *states, weight, *rest.get(name, (None, reverse, "tanh")))
    )


@pytest.mark.parametrize("name", GATES)
def test_examples_of_a_batch_are_lanes_both_ways(name):
    graph = layer_graph(name)
    back = derive(graph, (1 << len(graph.places)) - 1).op
    for op in (graph, back):
        step = recurrence(op.lower().plan)
        constants = len(step.constants)
        assert set(step.lanes) == {0, -1}
        assert step.lanes.count(-1) == constants  # only the weights are shared


@pytest.mark.parametrize("name", GATES)
def test_gradients_of_states_are_not_stacked(name):
    graph = layer_graph(name)
    assert all(recurrence(graph.lower().plan).stacked)
    back = derive(graph, (1 << len(graph.places)) - 1).op.lower().plan
    step = recurrence(back)
    carries = len(step.carries)
    assert step.stacked == (False,) * carries + (True,) * (len(step.outputs) - carries)


@pytest.mark.parametrize("name", GATES)
@pytest.mark.parametrize("batch", [1, BATCH])
@pytest.mark.parametrize("reverse", [False, True])
def test_states_before_each_step_are_read_in_place(name, batch, reverse):
    graph = layer_graph(name, batch, reverse)
    back = derive(graph, (1 << len(graph.places)) - 1).op.lower().plan
    place = back.steps.index(recurrence(back))
    before, step, later = back.steps[:place], back.steps[place], back.steps[place + 1 :]
    assert not any(isinstance(s, (NestStep, CopyStep)) for s in before)
    read = [s for s in step.shifts if s]  # of the cells, or of the states themselves
    assert read == ([] if name == "pellucid::_rnn" else [1 if reverse else -1])
    # For the first state and for the others, then their sum; for a GRU's gates as they
    # are stacked, then both sums together.
    products, maps = {
        "pellucid::_lstm": (2, 1),
        "pellucid::_gru": (4, 4),
        "pellucid::_rnn": (2, 1),
    }[name]
    assert sum(isinstance(s, GemmStep) for s in later) == products
    assert sum(isinstance(s, NestStep) for s in later) == maps


@pytest.mark.parametrize("name", GATES)
@pytest.mark.parametrize("batch", [1, BATCH])
def test_gradients_of_gates_are_stacked_once_and_no_outer_products(name, batch):
    graph = layer_graph(name, batch)
    back = derive(graph, (1 << len(graph.places)) - 1).op.lower().plan
    step = recurrence(back)
    stacks = [
        back.values[number].sizes
        for number, is_stack in zip(step.outputs, step.stacked, strict=True)
        if is_stack
    ]
    # The gradients of the input's gates, and of the gate that only a GRU's state has.
    ranks = {"pellucid::_lstm": [4], "pellucid::_gru": [4, 3], "pellucid::_rnn": [3]}
    assert [len(sizes) for sizes in stacks] == ranks[name]


def scan_of(body, reads_stack=False):
    """A scan of ``carry + body(x)``, of which the last carry is the result, or all."""
    batch, size = sym("batch"), sym("size")
    step = Graph("step")
    carry, x = (step.input((batch, size), "float32") for _ in range(2))
    moved = emit_map(step, (batch, size), lambda i, j: body(x, i, j))
    step.outputs = [
        emit_map(
            step,
            (batch, size),
            lambda i, j: element(carry, [i, j]) * 2 + element(moved, [i, j]),
        )
    ]
    graph = Graph("sums")
    start = graph.input((batch, size), "float32", name="start")
    xs = graph.input((sym("time"), batch, size), "float32", name="xs")
    attrs = ScanAttrs(step, sym("time"), False, 1)
    (stack,) = emit_scan(graph, step, [start], [xs], [], attrs)
    last = emit_map(
        graph, (batch, size), lambda i, j: element(stack, [sym("time") - 1, i, j])
    )
    graph.outputs = [stack, last] if reads_stack else [last]
    return recurrence(lower_graph(graph, {}, name="sums").plan)


def test_the_first_dim_without_mixing_has_the_lanes():
    by_rows = scan_of(lambda x, i, j: element(x, [i, sym("size") - 1 - j]))
    assert by_rows.lanes == (0, 0, 0)
    by_columns = scan_of(lambda x, i, j: element(x, [sym("batch") - 1 - i, j]))
    assert by_columns.lanes == (1, 1, 1)


def test_a_step_that_mixes_all_elements_has_no_lanes():
    def reversed_step(x, i, j):
        return element(x, [sym("batch") - 1 - i, sym("size") - 1 - j])

    assert scan_of(reversed_step).lanes == ()


def test_a_stack_that_is_read_is_stored():
    assert scan_of(lambda x, i, j: element(x, [i, j])).stacked == (False,)
    kept = scan_of(lambda x, i, j: element(x, [i, j]), reads_stack=True)
    assert kept.stacked == (True,)
