"""Mistakes raise PyTorch's type of error, in a few lines, and leave all usable."""

from __future__ import annotations

import warnings

import pytest
from mistakes import MISTAKES

import pellucid as torch

CASES = [
    pytest.param(program, error, id=f"{theme}-{number}")
    for theme, cases in MISTAKES.items()
    for number, (program, error) in enumerate(cases)
]


@pytest.mark.parametrize(("program", "error"), CASES)
def test_a_mistake_raises_what_pytorch_raises(program: str, error: str) -> None:
    names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(program, names)
        except Exception as raised:
            assert type(raised).__name__ == error, raised
            assert str(raised) or isinstance(raised, AssertionError)
            assert len(str(raised).splitlines()) <= 10
        else:
            pytest.fail(f"nothing was raised instead of {error}")
    x = torch.ones(2, requires_grad=True)
    (x * x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2.0, 2.0]
