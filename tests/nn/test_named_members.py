"""Tensors of a module by their dotted names, and exceptions that travel."""

import pickle

import pytest

import pellucid as torch
from pellucid._utils import (
    ExceptionWrapper,
    _get_available_device_type,
    _get_device_module,
)
from pellucid.nn.utils._named_member_accessor import (
    NamedMemberAccessor,
    set_tensor,
    swap_tensor,
)


def net():
    return torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))


def test_a_swapped_tensor_is_used_and_swapped_back():
    linear = torch.nn.Linear(2, 1, bias=False)
    before = swap_tensor(linear, "weight", torch.tensor([[2.0, 3.0]]))
    assert linear(torch.ones(1, 2)).item() == 5.0
    assert swap_tensor(linear, "weight", before).tolist() == [[2.0, 3.0]]
    assert linear.weight is before


def test_a_missing_tensor_can_be_set_and_taken_away_again():
    module = torch.nn.Identity()
    with pytest.raises(AttributeError, match="extra"):
        swap_tensor(module, "extra", torch.ones(1))
    mark = swap_tensor(module, "extra", torch.ones(1), allow_missing=True)
    assert module.extra.item() == 1.0
    swap_tensor(module, "extra", mark)
    assert not hasattr(module, "extra")


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ((3, "weight", None), TypeError),
        ((torch.nn.Identity(), "a.b", None), KeyError),
        ((torch.nn.Identity(), "", None), KeyError),
        ((torch.nn.Identity(), "x", 3), TypeError),
    ],
)
def test_what_is_no_tensor_of_a_module_is_refused(given, kind):
    with pytest.raises(kind):
        set_tensor(*given)


def test_names_reach_into_submodules():
    module = net()
    accessor = NamedMemberAccessor(module)
    assert accessor.get_tensor("0.weight") is module[0].weight
    assert accessor.check_keys(["0.weight", "zero"]) == (
        [
            *("0.bias", "1.bias", "1.num_batches_tracked", "1.running_mean"),
            *("1.running_var", "1.weight"),
        ],
        ["zero"],
    )
    before, missing = accessor.swap_tensors_dict({"0.bias": torch.zeros(3)})
    assert not missing and module[0].bias.tolist() == [0.0, 0.0, 0.0]
    accessor.set_tensors_dict(before)
    assert module[0].bias is before["0.bias"]
    accessor.del_tensor("1.bias")
    assert "bias" not in module[1]._parameters
    with pytest.raises(AttributeError, match="bias"):
        accessor.get_tensor("1.bias")


def test_a_failed_swap_of_several_changes_none():
    module = net()
    weight = module[0].weight
    with pytest.raises(RuntimeError, match=r"0\.other"):
        NamedMemberAccessor(module).swap_tensors_dict(
            {"0.weight": torch.zeros(3, 2), "0.other": torch.zeros(1)}
        )
    assert module[0].weight is weight and not hasattr(module[0], "other")


@pytest.mark.parametrize("kind", [ValueError, KeyError])
def test_an_exception_travels_with_its_traceback(kind):
    try:
        raise kind("the cause")
    except kind:
        wrapper = ExceptionWrapper(where="in worker 3")
    sent = pickle.loads(pickle.dumps(wrapper))
    with pytest.raises(kind, match="in worker 3") as raised:
        sent.reraise()
    assert "the cause" in str(raised.value) and "Traceback" in str(raised.value)
    assert "\n" in str(raised.value)


def test_an_exception_with_other_arguments_is_a_runtime_error():
    class Needs(Exception):
        def __init__(self, first, second):
            super().__init__(first)

    try:
        raise Needs("a", "b")
    except Needs:
        wrapper = ExceptionWrapper()
    with pytest.raises(RuntimeError, match="Caught Needs in background"):
        wrapper.reraise()


def test_there_is_no_accelerator_without_a_backend():
    assert _get_available_device_type() is None
    assert _get_device_module("cpu") is torch.cpu
    with pytest.raises(RuntimeError, match="toaster"):
        _get_device_module("toaster")
