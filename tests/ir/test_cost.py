"""Costs counted from loops equal those of running the loops point by point."""

import operator
import random
from collections import Counter
from itertools import product

import pytest

from pellucid_compiler.ir.cost import graph_cost, loop_cost, operation_class
from pellucid_compiler.ir.expr import axis, const, load, make, padded_load, sym
from pellucid_compiler.ir.graph import Graph, Node, Value
from pellucid_compiler.ir.primitives.loop import LOOP, LoopAttrs, Store

VALUES = ["add", "sub", "mul", "div", "maximum", "exp", "sqrt"]
PYTHON = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}


def random_loop(chance):
    """A loop of up to three axes over up to three operands, and its sizes."""
    extents = [chance.randint(1, 4) for _ in range(chance.randint(1, 3))]
    dtypes = [chance.choice(["float32", "float64"]) for _ in range(3)]
    operands, env = [], {}

    def index_of():
        terms = [axis(k) * chance.choice([1, 1, 2, -1]) for k in range(len(extents))]
        chosen = chance.sample(terms, chance.randint(0, min(2, len(terms))))
        return sum(chosen, const(chance.randint(0, 2)))

    for number, dtype in enumerate(dtypes):
        sizes = [chance.randint(1, 9) for _ in range(chance.randint(1, 2))]
        names = [f"x{number}.{d}" for d in range(len(sizes))]
        env.update(zip(names, sizes, strict=True))
        operands.append(Value([sym(name) for name in names], dtype))

    def leaf():
        number = chance.randrange(3)
        index = [index_of() for _ in operands[number].shape]
        return padded_load(number, index, const(0.0, dtypes[number]), dtypes[number])

    def body(depth):
        if not depth:
            return leaf()
        name = chance.choice(VALUES)
        count = 1 if name in ("exp", "sqrt") else 2
        return make(name, *(body(depth - 1) for _ in range(count)))

    stored = chance.sample(range(len(extents)), chance.randint(0, len(extents)))
    shape = [const(extents[k]) for k in stored]
    reduces = len(stored) < len(extents)
    store = Store(tuple(axis(k) for k in stored), body(chance.randint(0, 3)))
    attrs = LoopAttrs(
        tuple(map(const, extents)),
        (store,),
        "sum" if reduces else "assign",
        tuple(shape),
    )
    return Node(LOOP, tuple(operands), attrs), env, extents


def place_of(e, point):
    if e.op in PYTHON:
        return PYTHON[e.op](*(place_of(a, point) for a in e.args))
    return point[e.attr] if e.op == "axis" else e.attr


def run_and_count(node, env, extents):
    """The cost of running the loop point by point without registers."""
    operations, read, written = Counter(), set(), set()
    (store,) = node.attrs.stores
    sizes = [[env[size.attr] for size in v.shape] for v in node.inputs]
    for point in product(*map(range, extents)):
        done = set()

        def visit(e, point=point, done=done):
            if e in done:
                return
            done.add(e)
            if e.op == "padded_load":
                place = tuple(place_of(i, point) for i in e.args[:-1])
                bounds = zip(place, sizes[e.attr], strict=True)
                if all(0 <= p < n for p, n in bounds):
                    read.add((e.attr, place))
                return
            for operand in e.args:
                visit(operand)
            if kind := operation_class(e):
                operations[kind] += 1

        visit(store.body)
        operations["arithmetic"] += node.attrs.combine == "sum"
        written.add(tuple(place_of(i, point) for i in store.place))
    widths = {"float32": 4, "float64": 8}
    read_bytes = sum(widths[node.inputs[number].dtype] for number, _ in read)
    return +operations, read_bytes, len(written) * widths[node.attrs.dtype]


@pytest.mark.parametrize("seed", range(0, 1000, 100))
def test_random_loops_cost_what_running_them_counts(seed):
    for number in range(seed, seed + 100):
        node, env, extents = random_loop(random.Random(number))
        cost = loop_cost(node, env)
        assert cost.exact, number
        actual = +cost.operations, cost.bytes_read, cost.bytes_written
        assert actual == run_and_count(node, env, extents), number


def test_a_product_takes_two_operations_a_point():
    a = load(0, (axis(0), axis(2)), "float32")
    b = load(1, (axis(2), axis(1)), "float32")
    m, k, n = const(300), const(500), const(700)
    attrs = LoopAttrs((m, n, k), (Store((axis(0), axis(1)), a * b),), "sum", (m, n))
    node = Node(LOOP, (Value((m, k), "float32"), Value((k, n), "float32")), attrs)
    cost = loop_cost(node, {})
    assert cost.products == cost.flops == 2 * 300 * 500 * 700
    assert cost.bytes_read == 4 * (300 * 500 + 500 * 700)
    assert cost.bytes_written == 4 * 300 * 700


def test_elements_that_data_chooses_are_bounded():
    index = load(1, (axis(0),), "int64")
    n = const(50)
    body = load(0, (index,), "float32")
    attrs = LoopAttrs((n,), (Store((axis(0),), body),), "assign", (n,))
    operands = (Value((const(7),), "float32"), Value((n,), "int64"))
    cost = loop_cost(Node(LOOP, operands, attrs), {})
    assert not cost.exact
    assert cost.bytes_read == 4 * 7 + 8 * 50


def test_a_graph_costs_what_its_nodes_do():
    graph = Graph("empty")
    assert graph_cost(graph, {}).flops == 0
