"""The reductions of losses: one table of names and numbers, read on both sides."""

import re
from pathlib import Path

import pytest

import pellucid as torch
from pellucid_compiler.abi.codes import LOSS_REDUCTION
from pellucid_compiler.abi.schema_types import NAMED_DEFAULTS
from pellucid_compiler.composites import losses

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", LOSS_REDUCTION.names)
def test_the_runtime_knows_each_name_by_its_number(name):
    number = LOSS_REDUCTION[name]
    copy = "".join(list(name))  # not the interned literal
    assert torch._C._reduction_number(None, None, name) == number
    assert torch._C._reduction_number(None, None, copy) == number


def test_bodies_and_schemas_take_the_numbers_of_the_table():
    numbers = {"none": losses.NONE, "mean": losses.MEAN, "sum": losses.SUM}
    assert numbers == LOSS_REDUCTION.codes
    assert NAMED_DEFAULTS["Mean"] == LOSS_REDUCTION["mean"]


def test_no_other_list_of_the_names_is_in_the_runtime():
    listed = re.compile(r'"none",\s*"mean",\s*"sum"')
    found = [
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "runtime").rglob("*.[ch]*")
        if listed.search(path.read_text())
    ]
    assert found == ["runtime/abi/codes.h"]
