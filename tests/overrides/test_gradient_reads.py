"""What gradient ops receive is what declarations say, whatever arguments are called."""

import ast
from types import SimpleNamespace

import pytest

import pellucid as torch
import pellucid_compiler.catalogue  # noqa: F401 - fills the registry
from pellucid._C._runtime.gradient_arguments import (
    forward_argument,
    result_number,
    value_of,
)
from pellucid_compiler.declare import REGISTRY
from pellucid_compiler.declare.schema import parse_schema
from pellucid_compiler.declare.seen import declares_gradient, seen_rows

ROWS = {row.op: row for row in seen_rows(REGISTRY.values())}
SCHEMAS = {
    schema.full_name: schema
    for schema in (
        parse_schema(op.options.backward)
        for op in REGISTRY.values()
        if declares_gradient(op.options.backward)
    )
}
CALLING = [name for name, row in ROWS.items() if row.gradient in SCHEMAS]
GRAD = torch.ones(2, 3, dtype=torch.float64)


def read(text):
    return ast.parse(text, mode="eval").body


@pytest.mark.parametrize("name", CALLING)
def test_every_argument_of_a_gradient_op_is_told(name):
    row = ROWS[name]
    call = read(f"given({row.given})")
    told = {word.arg for word in call.keywords}
    told |= {a.name for a in REGISTRY[name].schema.arguments}
    arguments = SCHEMAS[row.gradient].arguments[1:]
    masks = {a.name for a in arguments if a.type == "bool" and a.is_list}
    assert {a.name for a in arguments} <= told | masks


def test_a_row_says_whether_results_are_read():
    assert ROWS["sigmoid"].reads_results
    assert ROWS["max_pool2d_with_indices"].reads_results
    assert not ROWS["leaky_relu"].reads_results  # self_is_result
    assert not ROWS["select.int"].reads_results


CALL = SimpleNamespace(
    grad=GRAD,
    wanted=("odd",),
    size_of=lambda name: {"odd": (4, 3)}[name],
    value=lambda name: {"start": None, "end": 5}[name],
    result=lambda number: f"result {number}",
    argument=lambda declared: {"odd": 2, "flag": True, "pads": [1, -2]}[declared.name],
    forward=SimpleNamespace(
        _schema=SimpleNamespace(
            arguments=[SimpleNamespace(name=n) for n in ("odd", "flag", "pads")]
        )
    ),
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("odd", 2),
        ("result", "result 0"),
        ("result2", "result 2"),
        ("[1, 1]", [1, 1]),
        ("sizes(odd)", [4, 3]),
        ("rows(odd)", 4),
        ("channels(odd)", [4, 3]),
        ("channels(absent)", None),
        ("known(start, 7)", 7),
        ("known(end, 7)", 5),
        ("dtype(grad)", torch.float64),
        ("-pads", [-1, 2]),
        ("not flag", False),
        ("1 / odd", 0.5),
    ],
)
def test_an_argument_is_read_from_the_forward_call(text, value):
    assert value_of(read(text), CALL) == value


def test_an_argument_that_nothing_reads_is_empty():
    assert value_of(read("empty()"), CALL).shape == (0,)


@pytest.mark.parametrize(
    ("text", "given", "told"),
    [
        ("odd", 5, 5),
        ("known(odd, 0)", 5, 5),
        ("sizes(odd)", [4, 1], (4, 1)),
        ("rows(odd)", 4, (4, 3)),
        ("channels(odd)", None, (3,)),
        ("channels(odd)", [3], (3,)),
    ],
)
def test_the_forward_call_is_told_by_an_argument(text, given, told):
    name, value = forward_argument(read(text), GRAD, given)
    assert name == "odd"
    assert getattr(value, "shape", value) == told


@pytest.mark.parametrize("text", ["False", "[1]", "empty()", "dtype(grad)"])
def test_what_says_nothing_of_the_forward_call_tells_nothing(text):
    assert forward_argument(read(text), GRAD, None) is None


def test_results_are_numbered():
    words = ("result", "result1", "result12", "self_is_result", "resulting", "odd")
    numbers = [result_number(read(word)) for word in words]
    assert numbers == [0, 1, 12, None, None, None]
