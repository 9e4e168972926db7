"""Expressions may nest deeply: no recursion, and shared parts count once."""

import pytest

from pellucid_compiler.ir.affine import Bounds, polynomial
from pellucid_compiler.ir.build import settle
from pellucid_compiler.ir.expr import Expr, axis, load, make, select, sym, with_partials
from pellucid_compiler.ir.partials import partials
from pellucid_compiler.ir.sizes import size_value
from pellucid_compiler.ir.traversal import (
    checked_loads,
    loads,
    preorder,
    rewrite,
    substitute,
    walk,
    without_partials,
)

DEPTH = 20_000


def chain(first: Expr, depth: int = DEPTH) -> Expr:
    e = first
    for _ in range(depth):
        e = make("tanh", e)
    return e


def shared(first: Expr, depth: int = DEPTH) -> Expr:
    """A DAG with as many paths as 2 to the power of its depth."""
    e = first
    for _ in range(depth):
        e = make("maximum", e * 2.0, e * 3.0)
    return e


@pytest.fixture(scope="module")
def dag() -> Expr:
    return shared(load(0, (axis(0),), "float64"))


def test_walk_sees_operands_first_and_each_node_once(dag: Expr) -> None:
    order = walk(dag)
    places = {e: k for k, e in enumerate(order)}
    assert len(places) == len(order) > 3 * DEPTH
    assert all(places[a] < places[e] for e in order for a in e.args)
    assert len(preorder([dag], lambda e: e.args)) == len(order)
    assert loads(dag) == [load(0, (axis(0),), "float64")]
    assert checked_loads(dag) == {load(0, (axis(0),), "float64")}


def test_rewrite_keeps_sharing(dag: Expr) -> None:
    calls: list[Expr] = []

    def leaf(e: Expr, args: tuple[Expr, ...]) -> Expr | None:
        calls.append(e)
        return axis(1) if e.op == "axis" else None

    moved = rewrite(dag, leaf)
    assert moved is shared(load(0, (axis(1),), "float64"))
    assert len(calls) == 2  # the load and its index, once each
    assert substitute(moved, {axis(1): axis(0)}) is dag


def test_hand_partials_are_stripped() -> None:
    x = load(0, (), "float64")
    e = x
    for _ in range(DEPTH):
        e = with_partials(make("tanh", e), (e,), None)
    assert without_partials(e) is chain(x)


def test_a_slope_through_a_deep_chain() -> None:
    x = load(0, (), "float64")
    slopes = partials(chain(x), lambda e: True)
    assert list(slopes) == [(x, False)]


def test_sizes_that_nest() -> None:
    n = sym("x.0")
    e, expected = n, 7
    for k in range(DEPTH):
        e, expected = make("maximum", (e + k) // 2, n), max((expected + k) // 2, 7)
    assert size_value(e, {"x.0": 7}) == expected
    total = n
    for _ in range(DEPTH):
        total = n - total
    assert polynomial(total) == {(n,): 1}


def test_the_taken_branch_alone_is_evaluated() -> None:
    n = sym("x.0")
    e = n
    for _ in range(DEPTH):
        e = select(n < 5, e + 1, sym("missing"))
    assert size_value(e, {"x.0": 3}) == 3 + DEPTH
    with pytest.raises(KeyError, match="missing"):
        size_value(e, {"x.0": 5})


def test_selects_that_are_decided_go() -> None:
    e = load(0, (axis(0),), "float64")
    for _ in range(DEPTH):
        e = select(axis(0) < sym("x.0"), make("tanh", e), 0.0)
    settled = settle(e, Bounds([sym("x.0")]))
    assert settled is chain(load(0, (axis(0),), "float64"))


def test_deep_text() -> None:
    text = repr(chain(sym("n", "float64")))
    assert text == "tanh(" * DEPTH + "n" + ")" * DEPTH
