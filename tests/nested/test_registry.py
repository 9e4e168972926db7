"""Every declared op on jagged tensors is the op on each example, or listed with why.

Samples, dims and lengths come from the schemas: examples with one row less and without
rows where the op takes such. ``registry.txt`` has the ops that are refused, draw
numbers or have no gradient.
"""

import pytest

import pellucid as torch
from tests.nested import registry

LISTED = dict(line.split(": ", 1) for line in registry.TABLE.read_text().splitlines())


@pytest.mark.parametrize("name", registry.names())
def test_an_op_on_a_jagged_tensor_is_the_op_on_each_example(name):
    assert registry.outcome(name) == LISTED.get(name, "")


def test_the_list_names_ops_of_the_registry_and_no_op_is_wrong():
    assert set(LISTED) <= set(registry.names())
    kinds = {reason.partition(":")[0] for reason in LISTED.values()}
    refused = {"refused", "no gradient", "random", "no sample has two examples"}
    assert kinds <= refused
    assert len(registry.names()) - len(LISTED) >= 300


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool], ids=str)
def test_other_dtypes_give_what_they_give_on_examples(dtype):
    compared = 0
    for name in registry.names():
        if name in LISTED:
            continue
        for case in registry.cases(name):
            if registry.outcome_of(case):
                continue
            case = case.of_dtype(dtype)
            try:
                case.on_examples(case.examples)
            except (RuntimeError, NotImplementedError, TypeError, IndexError):
                continue  # refused on dense tensors too
            actual = case.on_nested(case.values(), case.offsets())
            assert not registry.differs(case, actual), name
            compared += 1
    assert compared > {torch.float32: 300, torch.int64: 150, torch.bool: 60}[dtype]
