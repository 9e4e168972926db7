"""Every declared op on sparse tensors is the op on dense ones, or listed with why.

Samples come from the schemas, with zeros in the place of some elements; gradients are
compared at the positions. ``registry.txt`` has the ops that are refused for all or some
samples or have no gradient.
"""

import pytest

import pellucid as torch
from tests.sparse import registry

LISTED = dict(line.split(": ", 1) for line in registry.TABLE.read_text().splitlines())
# Elements that are not stored are not zeros to these: PyTorch's sparse softmax, and the
# sample's singular system, where a dense zero times an infinity is NaN.
MASKED = {"softmax.int", "log_softmax.int", "pellucid::_linalg_solve_triangular"}


@pytest.mark.parametrize("name", registry.names())
def test_an_op_on_sparse_tensors_is_the_op_on_dense_ones(name):
    assert registry.outcome(name) == LISTED.get(name, "")


def test_the_list_names_ops_of_the_registry_and_no_op_is_wrong():
    assert set(LISTED) <= set(registry.names())
    kinds = {name: reason.partition(":")[0] for name, reason in LISTED.items()}
    assert {name for name, kind in kinds.items() if kind == "differs"} == MASKED
    allowed = {"refused", "no gradient", registry.NO_SAMPLE, "differs"}
    assert {kind.removeprefix("some ") for kind in kinds.values()} <= allowed
    never = [kind for kind in kinds.values() if not kind.startswith("some ")]
    assert len(registry.names()) - len(never) >= 100


def test_ops_on_rows_are_the_ops_on_coo_tensors():
    """CSR matrices: no op is wrong, and most that COO has are there."""
    both = 0
    for name in registry.names():
        if not LISTED.get(name, "some ").startswith("some "):
            continue
        found = registry.outcome(name, torch.sparse_csr)
        assert not found.startswith(("differs", "gradient")), name
        both += not found or found.startswith("some ")
    assert both >= 60
