"""Building scalar expressions: interning, typing, folding."""

import weakref

import pytest

from pellucid_compiler.ir.expr import (
    axis,
    cast,
    const,
    load,
    make,
    padded_load,
    select,
    sym,
)
from pellucid_compiler.ir.traversal import rewrite

X = load(0, (axis(0),), "float32")
N = sym("n")


def test_equal_expressions_are_one_object():
    assert (axis(0) + N) is (axis(0) + N)
    assert const(1) is not const(1.0)
    assert const(0.0) is not const(-0.0)


def test_an_expression_is_built_while_its_equal_is_being_freed():
    made = []
    first = const(0.0123)
    # Called before that of the table's entry: a signal handler may run there, too.
    freed = weakref.ref(first, lambda _: made.append(const(0.0123)))
    del first
    assert freed() is None
    assert made[0] is const(0.0123)


def test_operands_are_converted_to_one_dtype():
    e = X * sym("alpha", "weakfloat")
    assert e.dtype == "float32"
    assert [a.dtype for a in e.args] == ["float32", "float32"]
    assert (X < 1).dtype == "bool"
    assert (N / 2).dtype == "weakfloat"


def test_identities_fold_but_nan_survives():
    assert (N + 0) is N
    assert (N * 0).attr == 0
    assert (N // 1) is N
    assert (N - N).attr == 0
    assert (X * 0).op == "mul"
    assert select(True, X, 1.0) is X


def test_branching_on_a_symbol_is_refused_with_advice():
    with pytest.raises(TypeError, match="where"):
        bool(N > 1)
    assert bool(const(2) > 1)


def test_an_index_must_be_an_integer():
    with pytest.raises(TypeError, match="cast"):
        load(0, (X,), "float32")


def test_rewriting_replaces_leaves_and_folds_again():
    e = rewrite(axis(0) * N + 1, lambda n, _: const(0) if n.op == "axis" else None)
    assert e is cast(const(1), "int64")


def test_a_choice_among_widened_halves_is_one_among_halves():
    x, y = (load(k, (axis(0),), "float16") for k in (0, 1))
    wide = [cast(e, "float32") for e in (x, y)]
    inner = select(axis(0) < 3, wide[1], 0.1)
    chosen = cast(select(axis(0) < N, wide[0], inner), "float16")
    halves = select(axis(0) < 3, y, const(0.1, "float16"))
    assert chosen is select(axis(0) < N, x, halves)
    sums = select(axis(0) < N, wide[0] + wide[1], wide[1])
    assert cast(sums, "float16").op == "cast"


def test_printed_form_is_readable():
    assert repr(select(X > 0, X, 0.5 * make("exp", X))) == (
        "(x0[i] if (0.0 < x0[i]) else (0.5 * exp(x0[i])))"
    )
    assert (
        repr(padded_load(0, (axis(0) - 1,), 0.0, "float32")) == "x0[(i - 1) else 0.0]"
    )
    assert repr(cast(axis(1), "bfloat16")) == "bf16(j)"
