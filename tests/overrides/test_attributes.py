"""Attributes, and methods that run no op, as ``__torch_function__`` sees them."""

from __future__ import annotations

from typing import Any

import pytest

import pellucid as torch
from pellucid.overrides import TorchFunctionMode, resolve_name

calls: list[str | None] = []


class Logged(torch.Tensor):
    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        calls.append(resolve_name(func))
        return super().__torch_function__(func, types, args, kwargs or {})


class Log(TorchFunctionMode):
    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        calls.append(resolve_name(func))
        return func(*args, **(kwargs or {}))


@pytest.fixture
def x() -> Logged:
    calls.clear()
    result: Logged = torch.arange(4.0).reshape(2, 2).as_subclass(Logged)
    calls.clear()
    return result


@pytest.mark.parametrize(
    "name", ["shape", "dtype", "grad", "requires_grad", "is_leaf", "data", "T", "mT"]
)
def test_reading(x: Logged, name: str) -> None:
    getattr(x, name)
    assert calls == [f"torch.Tensor.{name}.__get__"]


def test_assigning_and_deleting(x: Logged) -> None:
    x.requires_grad = True
    x.grad = torch.ones(2, 2)
    del x.grad
    assert calls == [
        "torch.Tensor.requires_grad.__set__",
        "torch.Tensor.grad.__set__",
        "torch.Tensor.grad.__delete__",
    ]


@pytest.mark.parametrize(
    ("name", "args"), [("size", (0,)), ("dim", ()), ("tolist", ()), ("float", ())]
)
def test_methods(x: Logged, name: str, args: tuple[int, ...]) -> None:
    expected = getattr(torch.arange(4.0).reshape(2, 2), name)(*args)
    actual = getattr(x, name)(*args)
    assert calls == [f"torch.Tensor.{name}"]
    assert torch.equal(actual, expected) if name == "float" else actual == expected


def test_results_are_of_the_subclass(x: Logged) -> None:
    x.grad = torch.ones(2, 2)
    assert type(x.data) is Logged and type(x.T) is Logged
    assert type(x.grad) is torch.Tensor


def test_an_override_answers() -> None:
    class Round(torch.Tensor):
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if func == torch.Tensor.shape.__get__:
                return "round"
            return super().__torch_function__(func, types, args, kwargs or {})

    assert torch.ones(2).as_subclass(Round).shape == "round"


def test_modes_see_plain_tensors() -> None:
    plain = torch.ones(2, 2)
    calls.clear()
    with Log():
        plain.shape  # noqa: B018
        plain.size()
        plain.requires_grad = True
    assert calls == [
        "torch.Tensor.shape.__get__",
        "torch.Tensor.size",
        "torch.Tensor.requires_grad.__set__",
    ]
    calls.clear()
    assert plain.shape == (2, 2) and not calls


def test_objects_keep_attributes_of_their_own(x: Logged) -> None:
    x.note = "kept"
    assert x.note == "kept" and not calls
    with pytest.raises(AttributeError, match="nothing"):
        x.nothing  # noqa: B018
