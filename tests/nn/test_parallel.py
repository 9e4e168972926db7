"""``nn.parallel``: batches in parts, copies of modules, calls in threads."""

import threading
from collections import namedtuple

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.nn.parallel import (
    data_parallel,
    gather,
    parallel_apply,
    replicate,
    scatter,
)

DEVICES = ["cpu", "cpu"]
Pair = namedtuple("Pair", "x y")


class Network(nn.Module):
    """Two layers that share weights, and a count."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.second = self.first
        self.register_buffer("scale", torch.tensor(2.0))

    def forward(self, x, shift=0):
        return self.second(self.first(x).tanh()) * self.scale + shift


def test_structures_are_cut_and_joined_again():
    x = torch.arange(10.0).reshape(5, 2)
    inputs = [x, {"y": (x, "word")}, Pair(x, x + 1)]
    first, second = scatter(inputs, DEVICES)
    assert [len(first[0]), len(second[0])] == [3, 2]
    assert second[1]["y"][1] == "word"
    assert isinstance(first[2], Pair)
    assert torch.equal(first[2].y, x[:3] + 1)
    joined = gather([[first[0], first[2]], [second[0], second[2]]], "cpu")
    assert torch.equal(joined[0], x)
    assert torch.equal(joined[1].y, x + 1)
    with pytest.warns(UserWarning, match="become a vector"):
        assert gather([torch.tensor(1), torch.tensor(2)], "cpu").tolist() == [1, 2]
    with pytest.raises(ValueError, match="the same number of keys"):
        gather([{"x": x}, {}], "cpu")


def test_gradients_of_copies_are_those_of_the_network():
    network, x = Network(), torch.randn(5, 3)
    copies = replicate(network, DEVICES)
    assert not list(copies[0].parameters())
    assert copies[0].first is copies[0].second is not network.first
    actual = torch.cat(
        [copy(part) for copy, part in zip(copies, x.split(3), strict=True)]
    )
    assert torch.allclose(actual, network(x))
    actual.square().sum().backward()
    weight = network.first.weight
    (expected,) = torch.autograd.grad(network(x).square().sum(), weight)
    assert torch.allclose(weight.grad, expected)
    assert not replicate(network, DEVICES, detach=True)[0](x).requires_grad


def test_modules_are_called_in_threads_with_the_settings_of_the_caller():
    seen = []

    class Probe(nn.Module):
        def forward(self, x, scale=1):
            seen.append(threading.current_thread())
            return x @ x * scale

    x = torch.ones(2, 2, requires_grad=True)
    with torch.no_grad(), torch.autocast("cpu"):
        actual = parallel_apply([Probe(), Probe()], [x, (x,)], [{}, {"scale": 3}])
    assert [y[0, 0].item() for y in actual] == [2, 6]
    assert all(y.dtype is torch.bfloat16 and not y.requires_grad for y in actual)
    assert len({*seen, threading.current_thread()}) == 3
    with pytest.raises(RuntimeError) as error:
        parallel_apply([Probe(), Probe()], [x, x[:1]])
    assert error.value.__notes__ == ["in module 1 of parallel_apply"]
    with pytest.raises(AssertionError, match="2 modules for 1 inputs"):
        parallel_apply([Probe(), Probe()], [x])


@pytest.mark.parametrize("devices", [None, ["cpu"], DEVICES, ["cpu"] * 9])
def test_a_batch_in_parts_has_the_results_of_the_whole(devices):
    network, x = Network(), torch.randn(5, 3)
    actual = data_parallel(network, x, devices, module_kwargs={"shift": 1})
    assert torch.allclose(actual, network(x) + 1)
