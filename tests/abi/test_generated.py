"""What is generated from the tables of the border is what is checked in."""

from pathlib import Path

import pytest

from pellucid_compiler.abi.headers import headers
from pellucid_compiler.abi.pages import PAGE, page
from pellucid_compiler.ir import register_code

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", headers())
def test_a_header_is_current(name):
    assert (ROOT / "runtime" / name).read_text() == headers()[name]


def test_every_header_of_the_border_is_generated():
    found = {f"abi/{path.name}" for path in (ROOT / "runtime/abi").glob("*.h")}
    assert found == {name for name in headers() if name.startswith("abi/")}


def test_the_cases_of_scalar_ops_are_current():
    cases = (ROOT / "runtime" / register_code.PATH).read_text()
    assert cases == register_code.scalar_cases()


def test_the_page_of_the_formats_is_current():
    assert (ROOT / PAGE).read_text() == page()
