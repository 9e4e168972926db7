"""The files generated from the tables in ``pellucid_compiler/abi`` are up to date."""

from pathlib import Path

import pytest

import pellucid_compiler.catalogue  # noqa: F401 - declares the intrinsics
from pellucid_compiler.abi.headers import headers
from pellucid_compiler.abi.pages import PAGE, page
from pellucid_compiler.declare.intrinsics import kernel_table
from pellucid_compiler.ir.opcodes import OPCODES
from pellucid_compiler.ir.register_code import register_code

ROOT = Path(__file__).parents[2]


GENERATED = {**headers(), **register_code(), **kernel_table()}


@pytest.mark.parametrize("name", GENERATED)
def test_a_generated_file_is_current(name):
    assert (ROOT / "runtime" / name).read_text() == GENERATED[name]


def test_every_header_of_the_border_is_generated():
    actual = {f"abi/{path.name}" for path in (ROOT / "runtime/abi").glob("*.h")}
    assert actual == {name for name in GENERATED if name.startswith("abi/")}


def test_the_page_of_the_formats_is_current():
    assert (ROOT / PAGE).read_text() == page(OPCODES.values())
