"""The union-find of equal sizes, and its use in traces."""

from pellucid_compiler.ir.equal_sizes import EqualSizes
from pellucid_compiler.ir.expr import const, make, sym

A, B, C, D = (sym(f"{name}.0") for name in "abcd")
N = sym("n")


def test_the_size_that_was_named_first_represents_its_class() -> None:
    sizes = EqualSizes()
    sizes.add(make("eq", A, B))
    sizes.add(make("eq", C, B))
    assert [sizes.find(e) for e in (A, B, C, D)] == [A, A, A, D]


def test_classes_join() -> None:
    sizes = EqualSizes()
    sizes.add(make("eq", A, B))
    sizes.add(make("eq", C, D))
    sizes.add(make("eq", D, A))
    assert {sizes.find(e) for e in (A, B, C, D)} == {A}
    assert sizes.renamed() == {B: A, C: A, D: A}


def test_a_number_represents_all() -> None:
    sizes = EqualSizes()
    sizes.add(make("eq", A, B))
    sizes.add(make("eq", B, const(3, "int64")))
    assert sizes.find(A) is sizes.find(B) is const(3, "int64")


def test_an_expression_replaces_a_class_but_does_not_represent_it() -> None:
    sizes = EqualSizes()
    sizes.add(make("eq", N * 2, A))
    sizes.add(make("eq", A, B))
    assert sizes.find(B) is A
    assert sizes.renamed() == {A: N * 2, B: N * 2}


def test_other_conditions_say_nothing() -> None:
    sizes = EqualSizes()
    sizes.add(A < B)
    sizes.add(make("eq", N, const(3, "int64")))
    assert sizes.renamed() == {}


def test_a_copy_is_its_own_and_merges() -> None:
    sizes = EqualSizes()
    sizes.add(make("eq", A, B))
    other = sizes.copy()
    other.add(make("eq", B, C))
    assert sizes.find(C) is C
    sizes.merge(other)
    assert sizes.find(C) is A
