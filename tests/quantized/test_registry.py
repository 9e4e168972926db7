"""Every declared op on quantized tensors is the op on numbers, or listed with why.

Samples come from the schemas; results are quantized, or numbers. ``registry.txt`` has
the ops that are refused, as PyTorch refuses most of them.
"""

import pytest

from tests.quantized import registry

LISTED = dict(line.split(": ", 1) for line in registry.TABLE.read_text().splitlines())


@pytest.mark.parametrize("name", registry.names())
def test_an_op_on_quantized_tensors_is_the_op_on_their_numbers(name):
    assert registry.outcome(name) == LISTED.get(name, "")


def test_the_list_names_ops_of_the_registry_and_no_op_is_wrong():
    assert set(LISTED) <= set(registry.names())
    kinds = {reason.partition(":")[0] for reason in LISTED.values()}
    assert kinds <= {"refused", "some refused", "no sample has floats"}
    assert len(registry.names()) - len(LISTED) >= 60
