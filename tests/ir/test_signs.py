"""Changes of sign meet at results: fewer functions, the same bits."""

from pellucid_compiler.ir.expr import cast, load, make
from pellucid_compiler.ir.signs import with_late_signs
from pellucid_compiler.ir.traversal import walk

X, Y = (load(k, (), "float32") for k in range(2))


def count(values, op):
    return sum(e.op == op for e in walk(*values))


def test_both_tails_of_a_normal_distribution_share_an_error_function():
    def tail(x):
        return (make("erf", x * Y) + 1.0) * 0.5

    values = [tail(X), tail(-X)]
    moved = with_late_signs(values)
    assert count(values, "erf") == 2
    assert count(moved, "erf") == 1
    assert moved[0] is values[0]


def test_sums_of_changed_signs_become_differences():
    shared = make("tanh", X)
    moved = with_late_signs([shared, Y + make("tanh", -X), Y - make("tanh", -X)])
    assert [e.op for e in moved] == ["tanh", "sub", "add"]
    assert moved[1].args[1] is shared
    assert moved[2].args[1] is shared


def test_expressions_that_gain_nothing_are_left_alone():
    values = [make("exp", -X * Y)]
    assert with_late_signs(values)[0] is values[0]


def test_a_group_that_can_see_the_sign_of_nan_is_left_alone():
    values = [make("erf", X), make("copysign", Y, make("erf", -X))]
    assert all(a is b for a, b in zip(with_late_signs(values), values, strict=True))


def test_numbers_without_a_negative_zero_keep_their_signs():
    for dtype in ("float8_e4m3fnuz", "float8_e8m0fnu"):
        values = [cast(make("erf", X), dtype), cast(make("erf", -X), dtype)]
        moved = with_late_signs(values)
        assert count(moved, "erf") == 1
        assert [e.op for e in moved] == ["cast", "cast"]
        assert moved[1].args[0].op == "neg"
