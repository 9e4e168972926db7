"""Gradients, and small models that learn as they do on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pellucid as torch
import pellucid.nn.functional as F
from pellucid import nn
from pellucid.devices.check.place import Check, Mismatch, Place, expect

ROWS = torch.linspace(-1, 1, 128).reshape(16, 8).sin()


def gradients_agree(place: Place) -> None:
    """a gradient, and the gradient of a gradient"""

    def second(device: Any) -> Any:
        x = ROWS[:4].to(device).requires_grad_()
        y = (x.tanh() @ x.t()).softmax(-1).square().sum()
        (first,) = torch.autograd.grad(y, x, create_graph=True)
        assert first is not None
        return first.detach(), torch.autograd.grad(first.exp().sum(), x)[0]

    place.same(second(place.device), second("cpu"), "gradients")


def gradients_cross(place: Place) -> None:
    """the gradient of .to(device) is where the tensor came from"""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x.to(place.device).to(place.last) ** 2).sum().backward()
    assert x.grad is not None
    expect((x.grad.device.type, x.grad.tolist()), ("cpu", [2.0, 4.0]), "the gradient")


def hooks_see_the_device(place: Place) -> None:
    """hooks and functions of the program get tensors of the device"""
    seen = []
    x = torch.ones(3, device=place.device, requires_grad=True)
    y = x * 2
    y.register_hook(lambda grad: seen.append(grad.device))
    y.sum().backward()
    assert x.grad is not None
    expect([*seen, x.grad.device], [place.device, place.device], "devices")


class Attention(nn.Module):
    """A layer of a transformer over embedded words."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(11, 16), nn.Embedding(5, 16)
        self.norms = nn.ModuleList([nn.LayerNorm(16) for _ in range(3)])
        self.attended, self.mixed = nn.Linear(16, 48), nn.Linear(16, 16)
        self.dropped = nn.Dropout(0.1)
        self.wide, self.narrow = nn.Linear(16, 64), nn.Linear(64, 16)
        self.head = nn.Linear(16, 4)

    def forward(self, x: Any) -> Any:
        y = self.words(x) + self.places(torch.arange(5, device=x.device))
        parts = self.attended(self.norms[0](y)).chunk(3, -1)
        q, k, v = (part.view(-1, 5, 2, 8).transpose(1, 2) for part in parts)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = y + self.dropped(self.mixed(seen.transpose(1, 2).reshape(-1, 5, 16)))
        y = y + self.narrow(F.gelu(self.wide(self.norms[1](y))))
        return self.head(self.norms[2](y).mean(1))


def perceptron() -> nn.Module:
    """Two layers."""
    layers = (nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.2), nn.LayerNorm(16))
    return nn.Sequential(*layers, nn.Linear(16, 4))


def convolutional() -> nn.Module:
    """Two convolutions with normalisation and pooling."""
    first = (nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
    second = (nn.MaxPool2d(2), nn.Conv2d(8, 8, 3), nn.Flatten(), nn.Linear(32, 4))
    return nn.Sequential(*first, *second)


MODELS: dict[str, tuple[Callable[[], nn.Module], Any]] = {
    "a perceptron": (perceptron, ROWS),
    "a convolutional network": (
        convolutional,
        ROWS[:, :, None].expand(-1, -1, 8)[:, None].cos(),
    ),
    "a transformer": (Attention, torch.arange(80).reshape(16, 5) % 11),
}


def losses_of(name: str, device: Any, optimizer: str) -> list[float]:
    """The losses of four steps of a model of :data:`MODELS`."""
    make, x = MODELS[name]
    torch.manual_seed(0)
    model = make().to(device)
    for layer in model.modules():  # devices may have random numbers of their own
        if isinstance(layer, nn.Dropout):
            layer.p = 0.0
    chosen = getattr(torch.optim, optimizer)(model.parameters(), lr=0.01)
    x, y = x.to(device), (torch.arange(16) % 4).to(device)
    losses = []
    for _ in range(4):
        chosen.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        chosen.step()
        losses.append(loss.item())
    return losses


def model_learns(name: str, optimizer: str, place: Place) -> None:
    found = losses_of(name, place.device, optimizer)
    known = losses_of(name, "cpu", optimizer)
    furthest = max(abs(a - b) for a, b in zip(found, known, strict=True))
    if found != known and (place.is_exact or not furthest < 1e-4):
        raise Mismatch(f"the losses are {found}, on the CPU {known}")


def _learning() -> list[Check]:
    found: list[Check] = []
    for name in MODELS:
        for optimizer in ("SGD", "AdamW"):
            bound = partial(model_learns, name, optimizer)
            bound.__doc__ = f"{name} learns by {optimizer}"
            found.append(bound)
    return found


CHECKS: list[Check] = [gradients_agree, gradients_cross, hooks_see_the_device]
CHECKS += _learning()
