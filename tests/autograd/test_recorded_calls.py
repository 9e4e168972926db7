"""Repeated recorded calls: nodes share facts, derivatives are prepared.

Every case repeats one call until it and its derivative are cached, then changes a fact
that must not be taken from the cache (runtime/autograd/node_facts.h).
"""

from collections.abc import Callable
from contextlib import nullcontext

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.autograd.graph import saved_tensors_hooks
from pellucid.nn import functional as F
from pellucid.utils._python_dispatch import TorchDispatchMode

Tensor = torch.Tensor
Call = Callable[[Tensor], Tensor]


def leaf(*sizes: int) -> Tensor:
    count = torch.Size(sizes).numel()
    return (torch.arange(float(count)).reshape(sizes) / 8 - 0.5).requires_grad_()


def gradient(call: Call, x: Tensor, seed: Tensor | None = None) -> Tensor:
    result = call(x)
    (grad,) = torch.autograd.grad(
        result, x, torch.ones_like(result) if seed is None else seed
    )
    return grad


def again(call: Call, x: Tensor) -> Tensor:
    """The gradient of a call whose derivative has run often enough to be prepared."""
    for _ in range(5):
        result = gradient(call, x)
    return result


def test_other_values_of_equal_shape() -> None:
    again(lambda x: x * x, leaf(2, 3))
    x = torch.full((2, 3), 3.0, requires_grad=True)
    assert gradient(lambda x: x * x, x).tolist() == [[6.0] * 3] * 2


def test_other_shapes_and_dtypes() -> None:
    again(torch.exp, leaf(2, 3))
    for x in (leaf(3, 2), leaf(6), leaf(2, 3).detach().double().requires_grad_()):
        assert torch.equal(gradient(torch.exp, x), x.detach().exp())
        assert gradient(torch.exp, x).dtype == x.dtype


def test_gradients_of_other_layouts() -> None:
    x = leaf(2, 3)
    again(torch.sin, x)
    seed = torch.arange(6.0).reshape(3, 2).t()
    assert torch.equal(gradient(torch.sin, x, seed), seed * x.detach().cos())
    expanded = torch.tensor(2.0).expand(2, 3)
    assert torch.equal(gradient(torch.sin, x, expanded), 2 * x.detach().cos())


def test_numbers_are_part_of_the_call() -> None:
    x = leaf(4)
    assert again(lambda x: x * 2.0, x).tolist() == [2.0] * 4
    assert gradient(lambda x: x * 3.0, x).tolist() == [3.0] * 4
    assert again(lambda x: x**2, x).tolist() == (2 * x.detach()).tolist()
    assert torch.equal(gradient(lambda x: x**3, x), 3 * x.detach() ** 2)


def test_which_operands_require_gradients() -> None:
    a, b = leaf(3), leaf(3)
    for _ in range(5):
        (a * b).sum().backward()
    b.requires_grad_(False)
    a.grad = b.grad = None
    (a * b).sum().backward()
    assert b.grad is None and a.grad.tolist() == b.tolist()
    with torch.no_grad():
        assert not (a * b).requires_grad
    assert (a * b).requires_grad


def test_a_saved_value_that_changed() -> None:
    x, y = leaf(3), torch.ones(3)
    again(lambda x: x * y, x)
    result = x * y
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.sum().backward()


def test_a_saved_result_that_changed() -> None:
    x = leaf(3)
    again(torch.exp, x)
    result = x.exp()
    result.detach().mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.sum().backward()


def test_a_saved_value_that_was_detached() -> None:
    x = leaf(3)
    again(lambda x: (x * 2) * (x + 1), x)
    factor = x + 1
    result = (x * 2) * factor
    factor.detach_()
    with pytest.raises(RuntimeError, match="detach"):
        result.sum().backward()


def test_a_second_pass() -> None:
    x = leaf(3)
    again(lambda x: x * x, x)
    result = (x * x).sum()
    result.backward(retain_graph=True)
    result.backward()
    assert torch.equal(x.grad, 4 * x.detach())
    with pytest.raises(RuntimeError, match="second time"):
        result.backward()


def test_second_derivatives() -> None:
    x = leaf(3)
    again(lambda x: x**3, x)
    for _ in range(4):
        (first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), x)
        assert torch.allclose(second, 6 * x.detach())


def test_hooks_on_saved_tensors() -> None:
    x, seen = leaf(3), []
    again(lambda x: x * x, x)

    def pack(tensor: Tensor) -> Tensor:
        seen.append(tensor.shape)
        return tensor

    with saved_tensors_hooks(pack, lambda tensor: tensor * 10):
        result = x * x
    assert seen
    result.sum().backward()
    assert torch.allclose(x.grad, 20 * x.detach())


def test_hooks_on_gradients() -> None:
    x = leaf(3)
    again(lambda x: x.sin(), x)
    result = x.sin()
    result.register_hook(lambda grad: grad * 100)
    result.sum().backward()
    assert torch.allclose(x.grad, 100 * x.detach().cos())


def test_modes_see_prepared_derivatives() -> None:
    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            names.append(func.__name__)
            return func(*args, **(kwargs or {}))

    x, names = leaf(3), []
    again(torch.sin, x)
    result, seed = x.sin(), torch.ones(3)
    with Log():
        torch.autograd.grad(result, x, seed)
    assert names == ["cos.default", "mul.Tensor"]


def test_views_are_recorded() -> None:
    x = leaf(2, 3)
    assert again(lambda x: x.t(), x).shape == (2, 3)
    view = x.t()
    assert view.grad_fn.name() == "TBackward0" and view._base is x
    with pytest.raises(RuntimeError, match="leaf"):
        view.add_(1)
    base = x * 1
    again(lambda x: (x * 1)[0], x)
    row = base[0]
    row.mul_(5)
    base.sum().backward()
    assert x.grad.tolist() == [[5.0] * 3, [1.0] * 3]


def test_views_made_without_recording() -> None:
    x = leaf(2, 3)
    with torch.no_grad():
        for _ in range(5):
            view = x.t()
    assert view.requires_grad and view.grad_fn is None
    for _ in range(5):
        assert x.t().grad_fn is not None


@pytest.mark.parametrize("shape", [(4, 6), (2, 4, 6)])
def test_values_saved_for_the_gradient(shape: tuple[int, ...]) -> None:
    def call(x: Tensor) -> Tensor:
        return F.layer_norm(x, (6,), weight)

    weight = torch.linspace(0.5, 2, 6)
    x = leaf(*shape)
    seed = torch.arange(float(x.numel())).reshape(shape) % 5
    expected = gradient(call, x, seed)
    for _ in range(5):
        assert torch.equal(gradient(call, x, seed), expected)
    with torch.no_grad():
        assert call(x).grad_fn is None


def test_lists_and_several_results() -> None:
    x = leaf(4, 3)
    for _ in range(5):
        x.grad = None
        values, places = x.max(1)
        a, b = x.split(2)
        (values.sum() + torch.cat([a, b, a]).sum()).backward()
        assert not places.requires_grad
    assert x.grad[:2].sum().item() == 12 + 2 and x.grad[2:].sum().item() == 6 + 2


def test_the_line_of_the_forward_pass() -> None:
    x = torch.zeros(2, requires_grad=True)
    again(torch.sqrt, x)
    with (
        torch.autograd.set_detect_anomaly(True),
        pytest.warns(UserWarning, match="forward"),
    ):
        result = (x.sqrt() * 0).sum()
        with pytest.raises(RuntimeError, match="nan"):
            result.backward()


def test_a_derivative_that_is_replaced() -> None:
    library = torch.library.Library("recorded_calls", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x.clone() * 2, "CPU")
    x = leaf(3)
    for factor, takes_place in ((2.0, nullcontext()), (7.0, pytest.warns(match="has"))):
        with takes_place:
            torch.library.register_autograd(
                "recorded_calls::twice",
                lambda ctx, grad, factor=factor: grad * factor,
                lib=library,
            )
        for _ in range(4):
            assert gradient(torch.ops.recorded_calls.twice, x).tolist() == [factor] * 3


def test_training_is_the_same_with_and_without_preparation() -> None:
    def train(steps: int) -> list[float]:
        torch.manual_seed(0)
        net = nn.Sequential(
            nn.Linear(8, 16), nn.Tanh(), nn.LayerNorm(16), nn.Linear(16, 4)
        )
        data, targets = torch.randn(32, 8), torch.randint(0, 4, (32,))
        losses = []
        for step in range(steps):
            rows = slice(8 * (step % 3), 8 * (step % 3) + 8 - step % 2)
            loss = F.cross_entropy(net(data[rows]), targets[rows])
            net.zero_grad()
            loss.backward()
            with torch.no_grad():
                for parameter in net.parameters():
                    parameter -= 0.1 * parameter.grad
            losses.append(loss.item())
        return losses

    fresh = train(12)
    assert train(12) == fresh


@pytest.mark.parametrize("call", [torch.fliplr, torch.rot90, lambda x: x.flip(0)])
def test_gradients_have_memory_of_their_own(call: Call) -> None:
    x = leaf(4, 3)
    for _ in range(4):
        seed = torch.arange(12.0).reshape(call(x).shape)
        grad = gradient(call, x, seed)
        assert all(stride >= 0 for stride in grad.stride())
        before = grad.tolist()
        seed.zero_()
        assert grad.tolist() == before and grad.view(-1).shape == (12,)
        assert torch.from_dlpack(grad).tolist() == before


def test_hooks_that_make_the_same_call_with_other_shapes() -> None:
    """Enough calls to replace every entry of the inline cache."""
    x = leaf(3)

    def pack(tensor: Tensor) -> Tensor:
        if tensor.shape == (3,):
            for size in range(4, 44):
                other = leaf(size)
                for _ in range(3):
                    other * other
        return tensor

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        for _ in range(4):
            (grad,) = torch.autograd.grad((x * x).sum(), x)
            assert torch.equal(grad, 2 * x.detach())
