"""The ops that modes see for a scalar op compute what the op's row defines."""

import numpy as np
import pytest

import pellucid as torch
from pellucid._decomp.emitted import meaning
from pellucid_compiler.ir.expr import RESULT_RULES
from pellucid_compiler.ir.scalar_ops import SCALAR_OPS

REAL = [row for row in SCALAR_OPS.values() if row.domain in ("all", "floats")]
SHOWN = [row for row in REAL if meaning(row.name) is not None]
OPERANDS = np.array([0.3, 0.75, 0.5, 0.9]), np.array([0.5, 0.25, 0.5, 0.125])
NAMES = [row.name for row in SHOWN]


def operands_of(row):
    """Operands of the op's own dtype; those of acosh are from 1."""
    shift = 1 if row.name == "acosh" else 0
    dtype = RESULT_RULES[row.result]("float64")[0]
    values = [(a + shift) for a in OPERANDS[: row.arity]]
    return [a > 0.4 for a in values] if dtype == "bool" else values


@pytest.mark.parametrize("row", SHOWN, ids=NAMES)
def test_it_computes_what_the_row_says(row):
    arrays = operands_of(row)
    expected = row.evaluate(np, *arrays)
    actual = meaning(row.name)(*map(torch.tensor, arrays))
    np.testing.assert_allclose(actual.numpy(), expected, rtol=1e-12)


WITH_NUMBER = [(row, place) for row in SHOWN for place in range(len(row.with_number))]


@pytest.mark.parametrize(
    "row, place", WITH_NUMBER, ids=[f"{r.name}-{p}" for r, p in WITH_NUMBER]
)
def test_an_overload_for_numbers_is_the_op_with_one_of_the_operands(row, place):
    packet, name = row.with_number[place].split(".")
    overload = getattr(getattr(torch.ops.aten, packet), name)
    array = operands_of(row)[0]
    operands = (0.5, array) if place else (array, 0.5)
    expected = row.evaluate(np, *map(np.asarray, operands))
    actual = overload(torch.tensor(array), 0.5)
    np.testing.assert_allclose(actual.numpy(), expected, rtol=1e-12)


def test_steps_of_formulas_are_seen_under_these_names():
    with_operators = {row.name for row in SHOWN if row.emitted is not None}
    assert {"add", "sub", "mul", "div", "neg", "pow", "lt", "and"} <= with_operators
    assert {"exp", "sin", "sqrt", "erf", "maximum"} <= {*NAMES} - with_operators
