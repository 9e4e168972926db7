"""Proxies in the places of numbers: a tracer records the call, as PyTorch's does."""

import pytest

import pellucid as torch
from pellucid import fx
from pellucid.nn import functional as F

CALLS = {
    "int": lambda x, n: torch.topk(x, n),
    "int by name": lambda x, n: torch.cat([x, x], dim=n),
    "dim or dims": lambda x, n: torch.sum(x, n),
    "scalar": lambda x, n: torch.add(x, 1, alpha=n),
    "ints": lambda x, n: torch.reshape(x, (n, -1)),
    "loose ints": lambda x, n: torch.ones(2, 1).view(n, -1) + x,
    "composite": lambda x, n: torch.narrow(x, 0, 0, n),
    "layer": lambda x, n: F.conv1d(x, torch.ones(2, 2, 1), stride=n),
    "beside tensors": lambda x, n: torch.ones(2, 2).sum(n) + x,
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_number_may_be_a_proxy(call):
    traced = fx.symbolic_trace(call)
    x = torch.arange(4.0).view(2, 2)
    actual, wanted = traced(x, 1), call(x, 1)
    if isinstance(wanted, tuple):
        actual, wanted = actual[0], wanted[0]
    assert torch.equal(actual, wanted)
    (number,) = [n for n in traced.graph.nodes if n.target == "n"]
    assert number.users


def test_other_objects_are_still_refused():
    with pytest.raises(TypeError, match="must be int, not object"):
        torch.topk(torch.ones(2), object())
