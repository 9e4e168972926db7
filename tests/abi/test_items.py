"""Items of requests and keys: both sides write and read the same ones."""

import pytest

import pellucid as torch
from pellucid import _C
from pellucid_compiler.abi.codes import ITEM
from pellucid_compiler.abi.encode import decode, encode
from pellucid_compiler.abi.items import (
    GROUPS,
    KEY,
    OPERAND,
    REQUEST,
    DTypeItem,
    Ignored,
    KeyListItem,
    ListItem,
    NumberItem,
    OperandStatic,
    TensorItem,
    TensorLike,
    UnitItem,
)
from pellucid_compiler.abi.requests import PlanRequest, read_request
from pellucid_compiler.declare.op import REGISTRY
from pellucid_compiler.specialise.requests import decode_argument, encode_argument

MATRIX = TensorLike("float64", (2, 3))
VALUES = [
    *(None, True, -3, 0.5, 1 - 2j, "mean"),
    *(MATRIX, DTypeItem("int8"), Ignored(), ListItem((1, MATRIX, None))),
]


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_an_item_of_a_request_is_read_as_it_was_written(value):
    assert REQUEST.decode(decode(encode(REQUEST.encode(value)))) == value


def test_an_item_is_its_code_and_its_fields():
    assert KEY.encode(TensorItem("int64", 2)) == [ITEM["tensor"], 5, 2]
    items = KeyListItem((NumberItem("int"), UnitItem("float")))
    assert KEY.encode(items) == [ITEM["list"], [[ITEM["number"], 0], [ITEM["unit"], 1]]]
    assert OPERAND.encode(OperandStatic("none")) == [ITEM["static"], "none"]


@pytest.mark.parametrize("item", [MATRIX, ListItem((1,)), [1], b"1"], ids=str)
def test_an_item_of_another_place_is_refused(item):
    with pytest.raises(AssertionError, match="key"):
        KEY.encode(item)


def test_every_kind_of_item_has_a_record():
    assert {kind for group in GROUPS.values() for kind in group.records} == {
        *ITEM.names
    }


CALLS = {
    "sum.dim_IntList": lambda x: x.sum([0, -1], True, dtype=torch.float64),
    "cat": lambda x: torch.cat([x, x], 1),
    "addmm": lambda x: torch.addmm(x, x, x, beta=2, alpha=0.5),
    "index.Tensor": lambda x: x[:, None][:, :, torch.tensor([0, 1])],
    "arange.start_step": lambda x: torch.arange(0, 5, 2, dtype=torch.int32),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_runtime_writes_requests_as_the_engine_does(name):
    x = torch.ones(2, 2)
    _C._start_call_log()
    CALLS[name](x)
    calls = _C._stop_call_log()
    (request,) = {call[3] for call in calls if call[0] == f"aten::{name}"}
    written = read_request(PlanRequest, request).arguments
    arguments = REGISTRY[name].schema.arguments
    again = [
        encode_argument(decode_argument(item), argument)
        for item, argument in zip(written, arguments, strict=True)
    ]
    assert decode(encode(again)) == written
