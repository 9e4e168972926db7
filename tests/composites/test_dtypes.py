"""Composites take the dtypes that ``dtypes.txt`` says, which ``docs/ops.md`` shows."""

import pytest

from .dtypes import composites, recorded, taken


@pytest.mark.parametrize("name", composites())
def test_a_composite_takes_the_recorded_dtypes(name):
    assert taken(name) == recorded().get(name, ()), (
        "run python -m tests.composites.dtypes and review what changed"
    )


def test_the_table_names_composites_alone():
    assert len(recorded()) > 300
    assert set(recorded()) <= set(composites())
