"""What holds Exprs is never compared by ``==``, which would build a comparison."""

import dataclasses
import importlib
import pkgutil
import sys
import typing

import pytest

from pellucid_compiler.codegen.kernel import Kernel, Map, Reduce
from pellucid_compiler.ir.expr import (
    Expr,
    axis,
    const,
    load,
    same_exprs,
    sym,
    with_partials,
)
from pellucid_compiler.ir.primitives import LoopAttrs, Store

X = load(0, (), "float32")


def doubled():
    return Kernel(Map((X + X,)), ("float32",), ("float32",))


def test_kernels_are_equal_if_their_texts_are():
    assert doubled() == doubled()
    assert len({doubled(), doubled()}) == 1
    marked = Kernel(Map((with_partials(X + X, [X], None),)), ("float32",), ("float32",))
    assert marked == doubled()


@pytest.mark.parametrize(
    "other",
    [
        Kernel(Map((X + 1.0,)), ("float32",), ("float32",)),
        Kernel(Map((X + X,)), ("float32",), ("float64",)),
        Kernel(Map((X + X,)), ("float32",), ("float32",), ("int64",)),
        Kernel(Reduce(X + X, "sum", "float32"), ("float32",), ("float32",)),
        "map",
    ],
)
def test_other_kernels_differ(other):
    assert doubled() != other
    assert other not in [doubled()]


def test_tuples_of_exprs_are_compared_one_by_one():
    n, m = sym("x.0"), sym("x.1")
    assert same_exprs(n + 1, n + 1)
    assert same_exprs((n, m), (n, m))
    assert not same_exprs((n, m), (m, n))
    assert not same_exprs((n, m), (n,))
    assert not same_exprs(n, 1)
    assert not same_exprs(1, n)


def test_records_of_exprs_are_compared_field_by_field():
    def loop(body, combine="max"):
        store = Store((axis(0),), body)
        return LoopAttrs((sym("x.0"),), (store,), combine, (sym("x.0"),))

    assert same_exprs(loop(X + X), loop(X + X))
    assert not same_exprs(loop(X + X), loop(X))
    assert not same_exprs(loop(X), loop(X, "min"))
    assert not same_exprs(loop(X), loop(X)._replace(payload=const(0)))


def all_modules():
    package = importlib.import_module("pellucid_compiler")
    for module in pkgutil.walk_packages(package.__path__, "pellucid_compiler."):
        yield importlib.import_module(module.name)


MODULES = list(all_modules())
# Aliases may name types of the module that they come from.
NAMES = {name: value for module in MODULES for name, value in vars(module).items()}


def records():
    """The dataclasses that compare their fields."""
    for module in MODULES:
        for value in vars(module).values():
            if (
                isinstance(value, type)
                and value.__module__ == module.__name__
                and dataclasses.is_dataclass(value)
                and value.__dataclass_params__.eq
            ):
                yield value


def fields_of(record):
    """The type of every field by its name."""
    own = vars(sys.modules[record.__module__])
    return typing.get_type_hints(record, localns={**NAMES, **own})


def holds_exprs(type_, known=()):
    """Whether ``==`` of values of a type compares Exprs, one or several in a row.

    ``known``: the types that hold it, which may hold themselves.
    """
    if type_ in known:
        return False
    parts = typing.get_args(type_)
    if isinstance(type_, type) and hasattr(type_, "_fields"):  # a named tuple
        parts = fields_of(type_).values()
    return type_ is Expr or any(holds_exprs(part, (*known, type_)) for part in parts)


@pytest.mark.parametrize("record", [*records()], ids=lambda r: r.__qualname__)
def test_dataclasses_of_exprs_do_not_compare_their_fields(record):
    actual = [name for name, type_ in fields_of(record).items() if holds_exprs(type_)]
    assert not actual, f"{record.__qualname__} needs eq=False: {actual}"
