"""Repeated calls: what was prepared for the first must fit the next.

Every case calls several times first, so that the call is kept, and then changes the one
thing that must not be taken from it (runtime/python/inline_cache.h).
"""

import gc
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import pellucid as torch
from pellucid.overrides import TorchFunctionMode
from pellucid.utils._python_dispatch import TorchDispatchMode

Call = Callable[[], Any]


def again(call: Call) -> Any:
    """The result of a call that has come often enough to be kept."""
    for _ in range(4):
        result = call()
    return result


@pytest.fixture
def a() -> torch.Tensor:
    return torch.arange(6.0).reshape(2, 3)


@pytest.fixture
def b() -> torch.Tensor:
    return torch.full((2, 3), 10.0)


@pytest.fixture
def default_dtype() -> Iterator[None]:
    before = torch.get_default_dtype()
    yield
    torch.set_default_dtype(before)


def test_one_tensor_twice_and_two(a: torch.Tensor, b: torch.Tensor) -> None:
    again(lambda: a + a)
    assert (a + b).tolist() == [[10, 11, 12], [13, 14, 15]]
    again(lambda: a.mul(b))
    assert a.mul(a).tolist() == [[0, 1, 4], [9, 16, 25]]


def test_other_layouts_and_dtypes(a: torch.Tensor) -> None:
    again(lambda: a.sum(1))
    assert a.t().contiguous().t().sum(1).tolist() == [3, 12]
    assert a.to(torch.int32).sum(1).dtype == torch.int64
    assert a.double().sum(1).dtype == torch.float64
    assert a.reshape(3, 2).sum(1).tolist() == [1, 5, 9]


def test_numbers_by_value_and_type() -> None:
    ints, bools = torch.tensor([1, 2]), torch.tensor([True, False])
    assert again(lambda: ints * 2).dtype == torch.int64
    assert (ints * 2.0).dtype == torch.float32
    assert (ints * 3).tolist() == [3, 6]
    assert again(lambda: bools + 1).dtype == torch.int64
    assert (bools | True).dtype == torch.bool
    zero = torch.tensor([1.0])
    assert again(lambda: zero / 0.0).item() == float("inf")
    assert (zero / -0.0).item() == float("-inf")


def test_fresh_floats_are_not_confused() -> None:
    x = torch.ones(3)
    assert [(x * (k / 8)).sum().item() for k in range(64)] == [
        3 * k / 8 for k in range(64)
    ]


def test_keywords(a: torch.Tensor) -> None:
    assert again(lambda: a.sum(dim=1, keepdim=True)).shape == (2, 1)
    assert a.sum(dim=1, keepdim=False).shape == (2,)
    assert a.sum(keepdim=True, dim=0).shape == (1, 3)
    seven = torch.tensor([7.0])
    assert again(lambda: torch.div(seven, -2, rounding_mode="floor")).item() == -4
    assert torch.div(seven, -2, rounding_mode="trunc").item() == -3


def test_a_list_that_changes(a: torch.Tensor) -> None:
    order = [0, 1]
    assert again(lambda: a.permute(order)).shape == (2, 3)
    order.reverse()
    assert a.permute(order).shape == (3, 2)


def test_default_dtype(default_dtype: None) -> None:
    assert again(lambda: torch.zeros(2)).dtype == torch.float32
    torch.set_default_dtype(torch.float64)
    assert torch.zeros(2).dtype == torch.float64


def test_requires_grad_of_a_factory() -> None:
    assert not again(lambda: torch.zeros(2, requires_grad=False)).requires_grad
    assert torch.zeros(2, requires_grad=True).requires_grad


def test_gradients_are_recorded_again(a: torch.Tensor, b: torch.Tensor) -> None:
    a.requires_grad_()
    with torch.no_grad():
        assert not again(lambda: a * b).requires_grad
        assert not again(lambda: a.t()).requires_grad
    assert (a * b).grad_fn is not None
    (a.t() * b.t()).sum().backward()
    assert a.grad is not None and a.grad.tolist() == b.tolist()


def test_a_view_of_what_came_to_require_gradients() -> None:
    base, weight = torch.zeros(4), torch.ones(2, requires_grad=True)
    view = base[:2]
    assert not again(lambda: view * 3).requires_grad
    base[:2] = weight
    assert (view * 3).requires_grad


def test_views_keep_their_base(a: torch.Tensor) -> None:
    again(lambda: a.view(6))
    a.view(6)[5] = 50
    assert a[1, 2].item() == 50
    kept = again(lambda: a.t())
    assert kept._base is a._base and kept._version == a._version


def test_in_place_on_shared_memory(b: torch.Tensor) -> None:
    x = torch.zeros(2, 3)
    again(lambda: x.add_(b))
    assert x.tolist() == [[40] * 3] * 2 and x._version == 4
    memory = torch.arange(8.0)
    with pytest.raises(RuntimeError, match="memory"):
        memory[:6].view(2, 3).add_(memory[2:].view(2, 3))


def test_errors_of_elements() -> None:
    divisor = torch.tensor([1, 2])
    again(lambda: divisor // divisor)
    divisor[0] = 0
    with pytest.raises(RuntimeError, match="ZeroDivision"):
        divisor // divisor
    x, index = torch.arange(4.0), torch.tensor([0, 1])
    again(lambda: x.index_select(0, index))
    index[1] = 4
    with pytest.raises(IndexError):
        x.index_select(0, index)
    index[1] = 3
    assert x.index_select(0, index).tolist() == [0, 3]


def test_modes_see_cached_calls(a: torch.Tensor, b: torch.Tensor) -> None:
    seen: list[str] = []

    class Functions(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            seen.append("function")
            return func(*args, **(kwargs or {}))

    class Dispatched(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    again(lambda: torch.add(a, b))
    with Functions():
        torch.add(a, b)
    with Dispatched():
        torch.add(a, b)
    assert seen == ["function", "aten.add.Tensor"]


def test_a_kernel_that_is_replaced() -> None:
    program = """
import pellucid as torch
x = torch.tensor([0.5])
for _ in range(4): torch.frac(x)
library = torch.library.Library("aten", "IMPL")
library.impl("frac", lambda given: given + 100, "CPU")
print(torch.frac(x).item())
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True
    )
    assert done.stdout.split() == ["100.5"], done.stderr


def test_nothing_is_kept_alive(a: torch.Tensor) -> None:
    def cached_call() -> "weakref.ref[torch.Tensor]":
        other = torch.ones(2, 3)
        again(lambda: a + other)
        return weakref.ref(other)

    died = cached_call()
    gc.collect()
    assert died() is None
    assert (a + torch.ones(2, 3)).tolist() == [[1, 2, 3], [4, 5, 6]]


def test_inference_mode(a: torch.Tensor) -> None:
    assert not again(lambda: a.exp()).is_inference()
    with torch.inference_mode():
        assert a.exp().is_inference()
        assert again(lambda: a.view(6)).is_inference() == a.is_inference()
    assert not a.exp().is_inference()


def test_subclasses(a: torch.Tensor) -> None:
    class Named(torch.Tensor):
        pass

    again(lambda: a.exp())
    assert type(a.as_subclass(Named).exp()) is Named
    assert type(torch.nn.Parameter(a).detach().exp()) is torch.Tensor


def test_more_calls_than_places(a: torch.Tensor) -> None:
    for size in range(1, 80):
        x = torch.ones(size)
        assert again(lambda x=x: x.sum()).item() == size
        assert again(lambda x=x: x + x).shape == (size,)


def test_many_dimensions_and_large_integers() -> None:
    x = torch.ones(1, 2, 1, 2, 1, 2, 1)
    assert again(lambda: x.sum(3)).shape == (1, 2, 1, 1, 2, 1)
    big = torch.tensor([1])
    assert again(lambda: big + 2**40).item() == 2**40 + 1
    assert (big + 2**41).item() == 2**41 + 1
