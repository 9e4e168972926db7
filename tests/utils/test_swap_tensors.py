"""``torch.utils.swap_tensors``: identity stays, everything else goes."""

import weakref

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.utils import swap_tensors


class Marked(torch.Tensor):
    pass


class Slotted(torch.Tensor):
    __slots__ = ("mark",)


def test_elements_classes_and_attributes_are_exchanged():
    x, y = torch.ones(2), nn.Parameter(torch.zeros(3, dtype=torch.float64))
    x.note = "of x"
    assert (x.shape, y.shape) == ((2,), (3,))
    kept = {"x": x}
    swap_tensors(x, y)
    assert kept["x"] is x and type(x) is nn.Parameter and x.requires_grad
    assert (x.shape, x.dtype, x.tolist()) == ((3,), torch.float64, [0, 0, 0])
    assert type(y) is torch.Tensor and y.tolist() == [1, 1] and y.note == "of x"
    assert not hasattr(x, "note")


def test_subclasses_and_views_follow():
    base = torch.zeros(4)
    view, other = base[:2], torch.ones(3).as_subclass(Marked)
    swap_tensors(view, other)
    assert type(view) is Marked and type(other) is torch.Tensor
    other.fill_(7)
    assert base.tolist() == [7, 7, 0, 0]
    assert type(view + 1) is Marked


def test_slots_are_exchanged():
    x, y = torch.ones(1).as_subclass(Slotted), torch.zeros(1).as_subclass(Slotted)
    x.mark = "x"
    swap_tensors(x, y)
    assert y.mark == "x" and not hasattr(x, "mark")


def test_gradients_reach_what_was_recorded():
    x, y = torch.ones(2, requires_grad=True), torch.zeros(2, requires_grad=True)
    product = (x * 3).sum()
    swap_tensors(x, y)
    product.backward()
    assert x.grad is None and y.grad.tolist() == [3, 3]


def test_an_optimizer_steps_what_a_parameter_became():
    layer = nn.Linear(2, 1, bias=False)
    optimizer = torch.optim.SGD(layer.parameters(), lr=1.0)
    swap_tensors(layer.weight, nn.Parameter(torch.zeros(1, 2)))
    layer(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    assert layer.weight.tolist() == [[-1, -1]]


def test_weak_references_and_other_slots_are_refused():
    x, y = torch.ones(2), torch.zeros(2)
    reference = weakref.ref(y)
    with pytest.raises(RuntimeError, match="t2 because it has weakref"):
        swap_tensors(x, y)
    assert reference() is y
    with pytest.raises(RuntimeError, match="different slots"):
        swap_tensors(x, x.clone().as_subclass(Slotted))
