"""Complex parameters: every optimizer treats them as their real and imaginary parts."""

from __future__ import annotations

from typing import Any

import pytest

import pellucid as torch
from pellucid import optim

OPTIMIZERS: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {}),
    ("SGD", {"momentum": 0.9}),
    ("Adam", {"amsgrad": True}),
    ("AdamW", {}),
    ("RMSprop", {"momentum": 0.5, "centered": True}),
    ("Adagrad", {"initial_accumulator_value": 0.1}),
    ("Adadelta", {}),
    ("Adamax", {}),
    ("NAdam", {}),
    ("RAdam", {}),
    ("ASGD", {}),
    ("Rprop", {}),
    ("LBFGS", {"max_iter": 3}),
]


def run(name: str, options: dict[str, Any], parts: bool) -> tuple[torch.Tensor, Any]:
    start = torch.tensor([1 + 2j, -0.5j, 3 + 0j])
    leaf = torch.view_as_real(start) if parts else start
    leaf = leaf.clone().requires_grad_()
    real = torch.ones(2, requires_grad=True)
    optimizer = getattr(optim, name)([leaf, real], lr=0.1, **options)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        z = torch.view_as_complex(leaf) if parts else leaf
        loss = (z * z.conj()).real.sum() + (z * 1j).real.sum() + (real**2).sum()
        loss.backward()
        return loss

    for _ in range(3):
        optimizer.step(closure)
    actual = leaf.detach()
    return actual if parts else torch.view_as_real(actual), optimizer.state[leaf]


@pytest.mark.parametrize(("name", "options"), OPTIMIZERS)
def test_steps_are_those_of_the_parts(name: str, options: dict[str, Any]) -> None:
    actual, state = run(name, options, parts=False)
    expected, _ = run(name, options, parts=True)
    assert torch.allclose(actual, expected, atol=1e-6)
    kept = [v for v in state.values() if isinstance(v, torch.Tensor) and v.dim()]
    if name != "LBFGS":
        assert all(v.dtype == torch.complex64 and v.shape == (3,) for v in kept)


def test_optimizers_without_a_complex_form_say_so() -> None:
    z = torch.ones(2, 2, dtype=torch.complex64, requires_grad=True)
    with pytest.raises(RuntimeError, match="complex"):
        optim.Adafactor([z])


def test_a_loaded_optimizer_knows_its_complex_parameters() -> None:
    z = torch.tensor([1 + 2j], requires_grad=True)
    optimizer = optim.Adam([z], lr=0.1)
    z.grad = torch.tensor([1 - 1j])
    optimizer.step()
    other = optim.Adam([z], lr=0.1)
    other.load_state_dict(optimizer.state_dict())
    before = z.detach().clone()
    other.step()
    assert (z - before).real.item() < 0 < (z - before).imag.item()
