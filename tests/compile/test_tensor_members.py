"""What members of tensors are is known where they are defined, not listed again."""

import ast
from pathlib import Path

import pytest

import pellucid as torch
from pellucid._compile import read_set, tensor_members
from pellucid._compile.capture import callables
from pellucid._compile.capture.callables import describe
from pellucid._compile.tensor_members import ON_CPU, QUERIES, TENSOR_PROPERTIES

X = torch.rand(3, 4, requires_grad=True)
ARGUMENTS = {"is_same_size": (X,)}
ASKED = sorted(QUERIES - ON_CPU.keys() - {"device"})


def answer(tensor, name):
    member = getattr(tensor, name)
    return member(*ARGUMENTS.get(name, ())) if callable(member) else member


@pytest.mark.parametrize("name", ASKED)
def test_a_query_needs_no_elements(name):
    twin = torch.empty_like(X, device="meta").requires_grad_()
    assert answer(twin, name) == answer(X, name)


def test_queries_about_the_place_are_answered_for_the_cpu():
    assert {name: answer(X, name) for name in ON_CPU} == ON_CPU
    assert ON_CPU.keys() <= QUERIES


def test_the_runtime_marks_queries_where_it_defines_them():
    runtime = set(torch._C._tensor_queries())
    assert QUERIES - runtime == {"__len__", "dim_order"}
    assert {"shape", "stride", "requires_grad"} <= runtime
    assert runtime.isdisjoint({"data_ptr", "item", "_version", "grad", "is_set_to"})


def test_properties_that_are_ops_are_those_that_return_tensors():
    assert sorted(TENSOR_PROPERTIES) == ["H", "T", "imag", "mH", "mT", "real"]


@pytest.mark.parametrize("module", [read_set, callables])
def test_analyses_list_no_member_that_is_known_elsewhere(module):
    listed = {
        node.value
        for node in ast.walk(ast.parse(Path(module.__file__).read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert not listed & QUERIES - {"dtype", "layout", "device", "name"}
    assert not listed & TENSOR_PROPERTIES


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (torch.Tensor.add, "call"),
        (torch.Tensor.add_, "call"),
        (torch.Tensor.__add__, "call"),
        (torch.Tensor.size, "query"),
        (torch.Tensor.__len__, "query"),
        (torch.Tensor.shape.__get__, "query"),
        (torch.Tensor.T.__get__, "call"),
        (torch.Tensor.grad.__get__, "end"),
        (torch.Tensor.item, "end"),
        (torch.Tensor.tolist, "end"),
        (torch.Tensor.equal, "end"),
        (torch.Tensor.data_ptr, "end"),
        (torch.Tensor.resize_, "end"),
        (torch.Tensor.t_, "end"),
        (torch.Tensor.requires_grad_, "end"),
        (torch.Tensor.register_hook, "end"),
        (torch.Tensor.__bool__, "end"),
        (torch.Tensor.__index__, "end"),
        (torch.allclose, "end"),
        (torch.tensor, "data"),
        (torch.ops.aten.item.default, "end"),
        (torch.ops.aten.mul.Tensor, "call"),
    ],
)
def test_a_call_is_described_by_what_the_op_returns(function, kind):
    assert describe(function).kind == kind


def test_an_op_of_a_program_that_returns_a_number_needs_values():
    with torch.library._scoped_library("tensor_members", "FRAGMENT") as library:
        library.define("count(Tensor self) -> int")
        library.define("twice(Tensor self) -> Tensor")
        assert tensor_members.ends_graph("tensor_members::count")
        assert not tensor_members.ends_graph("tensor_members::twice")
