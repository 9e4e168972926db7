"""``ModuleTracker``: which modules run, forward and backward."""

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.utils._python_dispatch import TorchDispatchMode
from pellucid.utils.module_tracker import ModuleTracker


class Products(TorchDispatchMode):
    """Where matrix products run."""

    def __init__(self, tracker):
        super().__init__()
        self.tracker = tracker
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.overloadpacket in (torch.ops.aten.mm, torch.ops.aten.addmm):
            self.seen.append((sorted(self.tracker.parents), self.tracker.is_bw))
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("needs_grad", [False, True])
def test_modules_of_products(needs_grad):
    inner = nn.Sequential(nn.ReLU(), nn.Linear(2, 1))
    model = nn.Sequential(nn.Linear(2, 2), inner)
    first = ["Global", "Sequential", "Sequential.0"]
    last = ["Global", "Sequential", "Sequential.1", "Sequential.1.1"]
    with ModuleTracker() as tracker, Products(tracker) as products:
        model(torch.ones(1, 2, requires_grad=needs_grad)).sum().backward()
    backward = [(last, True)] * 2 + [(first, True)] * (1 + needs_grad)
    assert products.seen == [(first, False), (last, False), *backward]
    assert tracker.parents == {"Global"} and not tracker.is_bw


def test_a_module_inside_of_itself_warns():
    layer = nn.Identity()

    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = layer

        def forward(self, x):
            return self.layer(x) if x.dim() == 1 else self(x[0])

    with ModuleTracker(), pytest.warns(UserWarning, match="inside of itself"):
        Twice()(torch.ones(2, 2))


def test_nothing_is_followed_outside():
    layer = nn.Linear(2, 2)
    with ModuleTracker() as tracker:
        pass
    layer(torch.ones(1, 2))
    assert tracker.parents == {"Global"}
