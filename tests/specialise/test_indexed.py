"""Plans say what their inputs index: by the loops, not by names of arguments."""

import numpy as np
import pytest

import pellucid_compiler.catalogue  # noqa: F401 - fills the registry
from pellucid_compiler.declare import (
    REGISTRY,
    cast,
    num_elements,
    reshape,
    scatter,
    tabulate,
    wrap_index,
)
from pellucid_compiler.declare.op import Op, Options
from pellucid_compiler.ir.indexed import Indexed, indexed_dims

X = np.zeros((3, 4), "float32")
PLACES = np.zeros((3, 2), "int64")
LABELS = np.zeros(3, "int64")


def rows(op, *args):
    call = op.specialise(*args)
    return indexed_dims(op.trace(call.key, call.env).nominal)


def op_of(function, schema):
    return Op(function, schema, "loop", Options())


def picked(x, odd):
    """Along dim 1, like gather."""
    return tabulate(odd.shape, lambda *p: x[p[0], odd[p]])


def wrapped(x, odd):
    return tabulate(odd.shape, lambda *p: x[p[0], wrap_index(odd[p], x.shape[1])])


def flat(x, odd):
    whole = reshape(x, [num_elements(x)])
    return tabulate(odd.shape, lambda *p: whole[odd[p]])


def stored(x, odd):
    return scatter(x.shape, odd.shape, lambda *p: ([p[0], odd[p]], x[p]), into=x)


def widened(x, odd):
    wide = tabulate(odd.shape, lambda *p: cast(odd[p], "int64"))
    return tabulate(wide.shape, lambda *p: x[p[0], wide[p]])


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (picked, Indexed(1, 1, 0, 1, False)),
        (wrapped, Indexed(1, 1, 0, 1, True)),
        (flat, Indexed(1, 0, 0, None, False)),
        (stored, Indexed(1, 1, 0, 1, False)),
        (widened, Indexed(1, 1, 0, 1, False)),
    ],
)
@pytest.mark.parametrize("names", ["x, Tensor odd", "index, Tensor target"])
def test_the_loop_says_what_an_input_indexes(function, expected, names):
    op = op_of(function, f"pellucid::_test(Tensor {names}) -> Tensor")
    assert rows(op, X, PLACES) == (expected,)


def test_coordinates_of_several_dims_in_one_tensor_are_told_apart_by_nothing():
    def at_coordinates(x, places):
        return tabulate([places.shape[1]], lambda n: x[places[0, n], places[1, n]])

    op = op_of(at_coordinates, "pellucid::_test(Tensor x, Tensor places) -> Tensor")
    assert rows(op, X, PLACES) == ()


def test_elements_that_no_element_chooses_are_not_indexed():
    assert rows(REGISTRY["mul.Tensor"], X, X) == ()
    assert rows(REGISTRY["roll"], X, [1], [0]) == ()


def test_labels_index_the_classes_and_their_weights():
    op = REGISTRY["nll_loss"]
    found = rows(op, X, LABELS, np.ones(4, "float32"), 1, -100)
    assert {(row.index, row.dim) for row in found} >= {(1, 1)}
    assert op.options.index_message == "Target {} is out of bounds."


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("gather", (X, 1, PLACES), {(1, 1, False)}),
        ("index_select", (X, 0, LABELS), {(1, 0, False)}),
        ("embedding", (X, PLACES), {(1, 0, False)}),
        ("scatter_add", (X, 1, PLACES, X), {(1, 1, False)}),
    ],
)
def test_declared_ops_tell_what_their_indices_are_of(name, args, expected):
    found = rows(REGISTRY[name], *args)
    assert {(row.index, row.dim, row.wraps) for row in found} == expected
