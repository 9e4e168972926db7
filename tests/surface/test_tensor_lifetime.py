"""Life of tensor objects: identity, attributes, weak references, subclasses, cycles."""

import gc
import weakref

import pytest

import pellucid as torch


class Marked(torch.Tensor):
    """A subclass without an opinion on ops."""


def test_a_tensor_has_one_object_at_a_time():
    x = torch.tensor([1.0], requires_grad=True)
    x.grad = torch.tensor([2.0])
    assert x.grad is x.grad


def test_an_object_with_attributes_outlives_its_last_user():
    x = torch.tensor([1.0], requires_grad=True)
    x.grad = torch.tensor([2.0])
    x.grad.note = "kept"
    gc.collect()
    assert x.grad.note == "kept"


def test_a_subclass_object_outlives_its_last_user():
    x = torch.tensor([1.0], requires_grad=True)
    x.grad = torch.tensor([2.0]).as_subclass(Marked)
    gc.collect()
    assert type(x.grad) is Marked


def test_weak_references_end_with_the_tensor():
    x = torch.tensor([1.0])
    reference = weakref.ref(x)
    assert reference() is x
    del x
    assert reference() is None


def test_tensors_are_untracked_until_they_have_attributes():
    x = torch.tensor([1.0])
    assert not gc.is_tracked(x)
    x.note = 1
    assert gc.is_tracked(x)


def test_cycles_through_attributes_are_collected():
    x = torch.tensor([1.0])
    x.me = x
    reference = weakref.ref(x)
    del x
    gc.collect()
    assert reference() is None


def test_slots_of_subclasses_are_released():
    class Slotted(torch.Tensor):
        __slots__ = ("partner",)

    class Partner:
        pass

    x = torch.tensor([1.0]).as_subclass(Slotted)
    x.partner = Partner()
    reference = weakref.ref(x.partner)
    del x
    assert reference() is None


def test_attributes_are_in_the_dict():
    x = torch.zeros(2)
    assert x.__dict__ == {}
    x.note = 1
    assert vars(x) == {"note": 1}
    x.__dict__ = {"other": 2}
    assert x.other == 2 and not hasattr(x, "note")
    del x.other
    assert x.__dict__ == {}


def test_attributes_die_with_their_tensor():
    for i in range(10):  # objects are made of the memory of earlier ones
        x = torch.zeros(2)
        assert not hasattr(x, "note")
        x.note = i
        x.grad = torch.zeros(2)  # no entry of the dict
        assert x.__dict__ == {"note": i}


def test_attributes_follow_a_change_of_class():
    x = torch.zeros(2)
    x.note = 1
    x.__class__ = Marked
    assert type(x) is Marked and x.note == 1


def test_hash_is_identity_and_equality_is_elementwise():
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 3.0])
    assert len({x, y, x}) == 2
    assert (x == y).tolist() == [True, False]
    assert (x == "text") is False


def test_ops_on_subclasses_give_subclasses():
    x = torch.tensor([1.0, 2.0]).as_subclass(Marked)
    assert type(x + x) is Marked
    assert type(torch.exp(x)) is Marked
    assert type(torch.tensor([1.0, 2.0]) + x) is Marked


def test_torch_function_sees_the_call():
    calls = []

    class Watched(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            calls.append((func.__name__, cls in types, kwargs))
            return "handled"

    x = torch.tensor([1.0]).as_subclass(Watched)
    assert x + 1 == "handled"
    assert torch.add(torch.tensor([1.0]), x, alpha=2) == "handled"
    assert calls == [("add", True, None), ("add", True, {"alpha": 2})]


def test_foreign_types_may_override():
    class Foreign:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__

    assert torch.exp(Foreign()) == "exp"
    assert torch.tensor([1.0]) + Foreign() == "add"


def test_all_refusing_is_a_type_error():
    class Refusing(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(TypeError, match="NotImplemented"):
        torch.exp(torch.tensor([1.0]).as_subclass(Refusing))


def test_function_modes_see_every_call_and_may_pass_it_on():
    from pellucid.overrides import DisableTorchFunctionSubclass, TorchFunctionMode

    names = []

    class Recorder(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            names.append(func.__name__)
            return func(*args, **(kwargs or {}))

    x = torch.tensor([1.0])
    with Recorder():
        y = torch.exp(x) + x
    assert names == ["exp", "add"] and type(y) is torch.Tensor
    with DisableTorchFunctionSubclass():
        assert type(x.as_subclass(Marked) + 1) is torch.Tensor
