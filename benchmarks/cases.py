"""The benchmark cases: group -> (torch-like module -> {name: maker of a function}).

A maker runs once, outside the timing, and returns the timed function. The groups of
``MEASURED`` time themselves, in their own processes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import distributed
from breadth import breadth
from compiled import compiled
from kinds import kinds
from networks import networks, perceptron_step

Case = Callable[[], Callable[[], object]]


def overhead(torch: Any) -> dict[str, Case]:
    """Small calls, whose time is mostly overhead."""
    functional = torch.nn.functional
    a, b = torch.randn(4, 4), torch.randn(4, 4)
    row = torch.randn(4)
    x, weight, bias = torch.randn(4, 16), torch.randn(16, 16), torch.randn(16)
    calls: dict[str, Callable[[], object]] = {
        "a + b": lambda: a + b,
        "a + row": lambda: a + row,
        "a * 2.0": lambda: a * 2.0,
        "a.add_(b)": lambda: a.add_(b, alpha=0.0),
        "a > b": lambda: a > b,
        "relu": lambda: torch.relu(a),
        "where": lambda: torch.where(a > 0, a, b),
        "empty": lambda: torch.empty(4, 4),
        "zeros": lambda: torch.zeros(4, 4),
        "arange": lambda: torch.arange(10),
        "tensor of a list": lambda: torch.tensor([1.0, 2.0, 3.0]),
        "t": lambda: a.t(),
        "view": lambda: a.view(16),
        "reshape, permute": lambda: a.reshape(2, 2, 4).permute(2, 0, 1),
        "a[0]": lambda: a[0],
        "a[:, 1:3]": lambda: a[:, 1:3],
        "item": lambda: a[0, 0].item(),
        "clone": lambda: a.clone(),
        "to float64": lambda: a.to(torch.float64),
        "cat": lambda: torch.cat([a, b]),
        "stack": lambda: torch.stack([row, row, row]),
        "sum": lambda: a.sum(),
        "mean of rows": lambda: a.mean(1),
        "max of rows": lambda: a.max(1),
        "softmax": lambda: torch.softmax(a, -1),
        "layer_norm": lambda: functional.layer_norm(x, (16,)),
        "a @ b": lambda: a @ b,
        "linear": lambda: functional.linear(x, weight, bias),
        "shape": lambda: a.shape[0],
    }
    return {name: (lambda call=call: call) for name, call in calls.items()}


def autograd(torch: Any) -> dict[str, Case]:
    """Recording and running small graphs."""
    a = torch.randn(4, 4).requires_grad_()
    b = torch.randn(4, 4)

    def chain() -> None:
        y = a
        for _ in range(100):
            y = y * b
        y.sum().backward()

    calls: dict[str, Callable[[], object]] = {
        "record a + b": lambda: a + b,
        "record a * b": lambda: a * b,
        "(a * b).sum().backward()": lambda: (a * b).sum().backward(),
        "100 products, forward and backward": chain,
    }
    return {name: (lambda call=call: call) for name, call in calls.items()}


def training(torch: Any) -> dict[str, Case]:
    """Steps of a small perceptron, as in reinforcement learning."""

    def infer() -> Callable[[], object]:
        nn = torch.nn
        model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
        x = torch.randn(8, 64)

        def run() -> object:
            with torch.no_grad():
                return model(x)

        return run

    return {
        "SGD, batch 8": lambda: perceptron_step(torch, "SGD", 8),
        "Adam, batch 8": lambda: perceptron_step(torch, "Adam", 8),
        "AdamW, batch 256": lambda: perceptron_step(torch, "AdamW", 256),
        "inference, batch 8": infer,
    }


def models(torch: Any) -> dict[str, Case]:
    """Training steps and inference of the networks in `networks.py`."""
    cases: dict[str, Case] = {}
    for name, make in networks(torch).items():
        cases[f"{name}, train"] = lambda make=make: make()[0]
        cases[f"{name}, infer"] = lambda make=make: make()[1]
    return cases


GROUPS: dict[str, Callable[[Any], dict[str, Case]]] = {
    "overhead": overhead,
    "autograd": autograd,
    "training": training,
    "models": models,
    "compile": compiled,
    "kinds": kinds,
    "breadth": breadth,
}

MEASURED: dict[str, Callable[[str, str], dict[str, float]]] = {
    "distributed": distributed.measured,
}
