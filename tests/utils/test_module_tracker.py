"""``ModuleTracker``: which modules run, forward and backward."""

import warnings

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.utils._python_dispatch import TorchDispatchMode
from pellucid.utils.checkpoint import checkpoint
from pellucid.utils.flop_counter import FlopCounterMode
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


def test_a_module_inside_of_itself_is_logged(caplog):
    layer = nn.Identity()

    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = layer

        def forward(self, x):
            return self.layer(x) if x.dim() == 1 else self(x[0])

    with warnings.catch_warnings(), caplog.at_level("INFO"), ModuleTracker():
        warnings.simplefilter("error")
        Twice()(torch.ones(2, 2))
    assert caplog.messages == ["Twice is called inside of itself"]


def test_a_checkpoint_repeats_a_module_without_a_warning():
    layer = nn.Linear(2, 2)
    x = torch.ones(1, 2, requires_grad=True)
    with warnings.catch_warnings(), ModuleTracker():
        warnings.simplefilter("error")
        checkpoint(layer, x, use_reentrant=False).sum().backward()
    assert layer.weight.grad is not None


class Nested(nn.Module):
    """Modules in containers that are not called themselves."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])
        self.heads = nn.ModuleDict({"a": nn.Linear(2, 2)})

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.heads["a"](x)


def test_modules_in_containers_have_the_path_to_them():
    with ModuleTracker() as tracker, Products(tracker) as products:
        Nested()(torch.ones(1, 2))
    names = ["Nested.layers.0", "Nested.layers.1", "Nested.heads.a"]
    assert [parents for parents, _ in products.seen] == [
        ["Global", "Nested", name] for name in names
    ]


def test_operations_are_counted_by_module_forward_and_backward():
    with FlopCounterMode(display=False) as counter:
        Nested()(torch.ones(1, 2)).sum().backward()
    counts = counter.get_flop_counts()
    assert {name: sum(of.values()) for name, of in counts.items()} == {
        "Global": 64,
        "Nested": 64,
        "Nested.layers.0": 16,
        "Nested.layers.1": 24,
        "Nested.heads.a": 24,
    }


def test_nothing_is_followed_outside():
    tracker = ModuleTracker()
    seen = []

    class Layer(nn.Module):
        def forward(self, x):
            seen.append(sorted(tracker.parents))
            return x * 2

    layer, x = Layer(), torch.ones(2, requires_grad=True)
    with tracker:
        inside = layer(x)
    layer(x)
    assert seen == [["Global", "Layer"], ["Global"]]
    inside.register_hook(lambda _: seen.append(sorted(tracker.parents)))
    inside.sum().backward()
    assert seen[2:] == [["Global"]]
