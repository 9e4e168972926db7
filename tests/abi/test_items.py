"""Items of requests and keys: both sides write and read the same ones."""

import pytest

import pellucid as torch
from pellucid._C._runtime import tracing
from pellucid.profiler._timeline.log import Kind, Session, Watch
from pellucid.profiler._timeline.ops import request_items
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


X = torch.ones(1, 1, 2, 1, 2, dtype=torch.int16)
HALF = X.half()
CALLS = {
    "sum.dim_IntList": lambda: X.sum([0, -1], True, dtype=torch.float64),
    "addmm": lambda: torch.addmm(X[0, 0, :, 0], X[0, 0, :, 0], X[0, 0, :, 0], beta=2),
    "index.Tensor": lambda: X[:, :, :, None][:, :, torch.tensor([0, 1])],
    "arange.start_step": lambda: torch.arange(0, 5, 2, dtype=torch.int16),
    "var.correction": lambda: HALF.var([0], correction=2.5, keepdim=True),
    "full": lambda: torch.full((1, 1, 2, 3, 1), 1 + 2j, dtype=torch.complex64),
}


@pytest.fixture
def asked(monkeypatch):
    """The requests of the runtime: the keys of these calls are in no frozen file."""
    found = []

    def answer(what, request, original=tracing.answer):
        found.append(request)
        return original(what, request)

    monkeypatch.setattr(tracing, "answer", answer)
    return found


@pytest.mark.parametrize("name", CALLS)
def test_the_runtime_writes_requests_as_the_engine_does(name, asked):
    session = Session(Watch.FACTS)
    session.start()
    CALLS[name]()
    log = session.stop()
    requests = [read_request(PlanRequest, request) for request in asked]
    written = next(r.arguments for r in requests if r.op == name)
    arguments = REGISTRY[name].schema.arguments
    again = [
        encode_argument(decode_argument(item), argument)
        for item, argument in zip(written, arguments, strict=True)
    ]
    assert decode(encode(again)) == written
    (event,) = [e for e in log.events_of(Kind.CALL) if e.name == f"aten::{name}"]
    recorded = request_items(event.arguments[: len(arguments)])
    assert decode(encode(recorded)) == written
