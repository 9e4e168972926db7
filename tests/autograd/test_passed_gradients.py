"""Derivatives that pass the gradient through: no op runs, and no memory is shared that
a program could write to.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

import pellucid as torch
from pellucid.utils._python_dispatch import TorchDispatchMode


class Names(TorchDispatchMode):
    """The ops that run, by name."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(func.__name__)
        return func(*args, **(kwargs or {}))


def leaf() -> torch.Tensor:
    return torch.tensor([1.0, 2.0, 3.0], requires_grad=True)


def test_no_op_runs() -> None:
    x, y = leaf(), leaf()
    z = x + y + (1 + y).clone()
    with Names() as seen:
        torch.autograd.grad(z, x, torch.ones(3))
    assert seen.names == ["ones.default"]


@pytest.mark.parametrize(
    ("forward", "expected"),
    [
        (lambda x, y: x + y, (1.0, 1.0)),
        (lambda x, y: x - y, (1.0, -1.0)),
        (lambda x, y: torch.add(x, y, alpha=2), (1.0, 2.0)),
        (lambda x, y: torch.add(x, y, alpha=1.0), (1.0, 1.0)),
        (lambda x, y: torch.addcmul(x, y, torch.full((3,), 3.0)), (1.0, 3.0)),
        (lambda x, y: x + x + y.clone(), (2.0, 1.0)),
        (lambda x, y: (x + 1) + (1 - y), (1.0, -1.0)),
    ],
)
def test_gradients_of_sums(forward, expected: tuple[float, float]) -> None:
    x, y = leaf(), leaf()
    forward(x, y).backward(torch.ones(3))
    assert x.grad.tolist() == [expected[0]] * 3
    assert y.grad.tolist() == [expected[1]] * 3


def test_leaves_do_not_share_their_gradients() -> None:
    x, y, gradient = leaf(), leaf(), torch.ones(3)
    (x + y).backward(gradient)
    x.grad.add_(1)
    y.grad.add_(10)
    assert x.grad.tolist() == [2.0] * 3 and y.grad.tolist() == [11.0] * 3
    assert gradient.tolist() == [1.0] * 3


def test_broadcast_operands_and_other_dtypes_get_theirs() -> None:
    x, y = leaf(), torch.ones(2, 3, dtype=torch.float64, requires_grad=True)
    (x + y).sum().backward()
    assert x.grad.dtype == torch.float32 and x.grad.tolist() == [2.0] * 3
    assert y.grad.dtype == torch.float64 and y.grad.shape == (2, 3)


def test_hooks_and_retained_gradients_see_what_passes() -> None:
    x, seen = leaf(), []
    y = x * 2
    y.retain_grad()
    z = y + 1
    z.grad_fn.register_hook(lambda inputs, taken: seen.extend([inputs[0], taken[0]]))
    z.backward(torch.full((3,), 5.0))
    assert [t.tolist() for t in seen] == [[5.0] * 3] * 2
    assert y.grad.tolist() == [5.0] * 3 and x.grad.tolist() == [10.0] * 3


def test_second_derivatives_go_through() -> None:
    x = leaf()
    (first,) = torch.autograd.grad((x * x + x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert first.tolist() == [3.0, 5.0, 7.0] and second.tolist() == [2.0] * 3


PROGRAM = """
import sys
import pellucid as torch

x, w, b = (torch.ones(n, requires_grad=True) for n in (4, 4, 4))
y = torch.ones(2, 4) * w + b - 0.5 * w
(((y + 1) ** 2).clone() / 2).to(torch.float64).sum().backward()
layer = torch.nn.Linear(4, 3)
layer(torch.ones(2, 4)).relu().sum().backward()
torch.stack([x, w, b]).sum().backward()
assert "pellucid_compiler.catalogue" not in sys.modules
"""


def test_common_derivatives_come_with_the_package() -> None:
    assert subprocess.run([sys.executable, "-c", PROGRAM]).returncode == 0
