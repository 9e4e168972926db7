"""gradcheck finds wrong gradients and passes right ones."""

from __future__ import annotations

from typing import Any

import pytest

import pellucid as torch
from pellucid.autograd import Function, GradcheckError, gradcheck, gradgradcheck


def point(*values: float) -> torch.Tensor:
    return torch.tensor(list(values), dtype=torch.float64, requires_grad=True)


class WrongSlope(Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * x

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
        return g * 3.0


@pytest.mark.parametrize("fast_mode", [False, True])
def test_right_gradients_pass(fast_mode: bool) -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x * y, (x * x * y).sum()

    inputs = (point(0.5, -1.0), point(2.0, 3.0))
    assert gradcheck(function, inputs, fast_mode=fast_mode)
    assert gradgradcheck(function, inputs, fast_mode=fast_mode)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_wrong_gradients_are_found(fast_mode: bool) -> None:
    with pytest.raises(GradcheckError, match=r"(?s)analytical.*numerical"):
        gradcheck(WrongSlope.apply, point(1.0, 2.0), fast_mode=fast_mode)
    assert not gradcheck(WrongSlope.apply, point(1.0), raise_exception=False)


def test_tolerances_are_absolute_plus_relative() -> None:
    assert gradcheck(WrongSlope.apply, point(1.0), atol=1.01)
    assert gradcheck(WrongSlope.apply, point(1.0), rtol=0.51)
    assert not gradcheck(
        WrongSlope.apply, point(1.0), atol=0.5, rtol=0.2, raise_exception=False
    )


def test_inputs_are_checked() -> None:
    with pytest.raises(ValueError, match="requires_grad=True"):
        gradcheck(lambda x: x * x, torch.ones(2))
    with pytest.warns(UserWarning, match="float64"):
        gradcheck(
            lambda x: x * x,
            torch.ones(2, requires_grad=True),
            raise_exception=False,
        )


class Read(Function):
    """Its backward reads a value, which a batched tensor does not have."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
        float(g.sum())
        return g * 2


def test_wrong_gradients_are_found_before_missing_tangents() -> None:
    for fast_mode in (False, True):
        with pytest.raises(GradcheckError, match="Jacobian mismatch"):
            gradcheck(
                WrongSlope.apply,
                point(1.0, 2.0),
                check_forward_ad=True,
                fast_mode=fast_mode,
            )
    with pytest.raises(NotImplementedError, match="jvp"):
        gradcheck(Read.apply, point(1.0), check_forward_ad=True)


def test_gradients_that_cannot_be_batched_fail_the_check() -> None:
    assert gradcheck(Read.apply, point(1.0, 2.0))
    with pytest.raises(GradcheckError, match="batched"):
        gradcheck(Read.apply, point(1.0, 2.0), check_batched_grad=True)
    assert not gradcheck(
        Read.apply, point(1.0), check_batched_grad=True, raise_exception=False
    )
