"""Modes see a number as an argument of the overload that takes one."""

import pytest

import pellucid as torch
from pellucid.utils._python_dispatch import TorchDispatchMode


class Names(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(str(func).removeprefix("aten."))
        return func(*args, **(kwargs or {}))


def seen(function):
    with Names() as mode:
        result = function()
    return mode.seen, result


X, N = torch.tensor([-1.5, 0.0, 2.5]), torch.arange(3)
CASES = [
    (lambda: X > 0, "gt.Scalar", [False, False, True]),
    (lambda: X >= X, "ge.Tensor", [True] * 3),
    (lambda: torch.eq(X, 0), "eq.Scalar", [False, True, False]),
    (lambda: N % 2, "remainder.Scalar", [0, 1, 0]),
    (lambda: N & 1, "bitwise_and.Scalar", [0, 1, 0]),
    (lambda: 1 - N, "rsub.Scalar", [1, 0, -1]),
    (lambda: torch.xlogy(N, 1), "xlogy.Scalar_Other", [0, 0, 0]),
    (lambda: N + 1, "add.Tensor", [1, 2, 3]),
    (lambda: N // 2, "floor_divide.default", [0, 0, 1]),
    (lambda: N / 2, "div.Tensor", [0, 0.5, 1]),
    (lambda: torch.where(N > 0, 7, 8), "where.self", [8, 7, 7]),
    (lambda: torch.where(N > 0, 7, N), "where.self", [0, 7, 7]),
    (lambda: torch.where(N > 0, N, 7), "where.self", [7, 1, 2]),
]


@pytest.mark.parametrize(("function", "name", "expected"), CASES)
def test_numbers_have_overloads_of_their_own(function, name, expected):
    names, result = seen(function)
    assert names[-1] == name
    assert result.tolist() == expected


def test_in_place_forms_too():
    x = X.clone()
    names, result = seen(lambda: x.lt_(0))
    assert names == ["lt_.Scalar"]
    assert result is x and x.tolist() == [1, 0, 0]


def test_gradients_are_recorded():
    x = X.clone().requires_grad_()
    names, result = seen(lambda: torch.fmod(x, 2))
    assert names[-1] == "fmod.Scalar"
    result.sum().backward()
    assert x.grad.tolist() == [1, 1, 1]
