"""Hooks on saved tensors, and mutation of saved tensors."""

from __future__ import annotations

from typing import Any

import pytest

import pellucid as torch
from pellucid.autograd import graph


def leaf(values: list) -> torch.Tensor:
    return torch.tensor(values, requires_grad=True)


def identity(value: Any) -> Any:
    return value


def test_hooks_see_arguments_and_results_in_the_order_of_saving() -> None:
    seen: list[tuple[str, list]] = []

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        seen.append(("pack", tensor.tolist()))
        return tensor * 1.0

    def unpack(tensor: torch.Tensor) -> torch.Tensor:
        seen.append(("unpack", tensor.tolist()))
        return tensor

    x = leaf([0.0])
    with graph.saved_tensors_hooks(pack, unpack):
        y = (x * x).exp()
    y.sum().backward()
    packs = [("pack", [0.0]), ("pack", [0.0]), ("pack", [1.0])]
    assert seen == [*packs, ("unpack", [1.0]), ("unpack", [0.0]), ("unpack", [0.0])]


def test_a_hook_may_keep_anything_that_unpacks_to_a_tensor() -> None:
    x = leaf([2.0])
    with graph.saved_tensors_hooks(lambda t: 7, lambda n: torch.tensor([float(n)])):
        y = x * x
    y.backward()
    assert x.grad.tolist() == [14.0]


def test_second_derivatives_pass_through_hooks() -> None:
    x = leaf([2.0])
    with graph.saved_tensors_hooks(identity, identity):
        y = x.exp() * x
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    (second,) = torch.autograd.grad(first, x)
    assert first.item() == pytest.approx(22.167, abs=1e-3)
    assert second.item() == pytest.approx(29.556, abs=1e-3)


def test_lists_and_functions_are_packed_too() -> None:
    count = [0]

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        count[0] += 1
        return tensor

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return x * 2.0

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            (x,) = ctx.saved_tensors
            return grad * x

    x = leaf([3.0])
    with graph.saved_tensors_hooks(pack, lambda t: t * 10.0):
        y = Scale.apply(x)
    assert count == [1]
    y.backward()
    assert x.grad.tolist() == [30.0]


def test_the_innermost_hooks_act_alone() -> None:
    seen: list[str] = []

    def noting(name: str) -> Any:
        return lambda tensor: (seen.append(name), tensor)[1]

    x = leaf([1.0])
    with graph.saved_tensors_hooks(noting("outer"), identity):
        with graph.saved_tensors_hooks(noting("inner"), identity):
            x.sin()
        x.cos()
    x.sin()
    assert seen == ["inner", "outer"]


def test_errors_of_hooks() -> None:
    x = leaf([1.0])
    with graph.saved_tensors_hooks(identity, lambda t: 3):
        y = x.sin()
    with pytest.raises(TypeError, match=r"unpack hook.*must return a Tensor, not int"):
        y.backward()
    changing = graph.saved_tensors_hooks(lambda t: t.add_(1.0), identity)
    with pytest.raises(RuntimeError, match="changed its argument in place"), changing:
        x.clone().sin()

    def refuse(tensor: torch.Tensor) -> None:
        raise ValueError("not this one")

    failing = graph.saved_tensors_hooks(refuse, identity)
    with pytest.raises(ValueError, match="not this one"), failing:
        x.sin()


def test_hooks_are_functions() -> None:
    with pytest.raises(TypeError), graph.saved_tensors_hooks(1, 2):
        pass


def test_hooks_can_be_forbidden() -> None:
    hooks = graph.saved_tensors_hooks(identity, identity)
    forbidden = "no hooks here"
    with (
        graph.disable_saved_tensors_hooks(forbidden),
        pytest.raises(RuntimeError, match=forbidden),
        hooks,
    ):
        pass
    with (
        hooks,
        pytest.raises(RuntimeError, match=forbidden),
        graph.disable_saved_tensors_hooks(forbidden),
    ):
        pass


def test_single_saved_tensors_take_hooks() -> None:
    x = leaf([2.0])
    y = x * x
    node = y.grad_fn
    node._raw_saved_self.register_hooks(lambda t: t * 2.0, lambda t: t * 3.0)
    with pytest.raises(RuntimeError, match="has hooks already"):
        node._raw_saved_self.register_hooks(identity, identity)
    y.backward()
    assert x.grad.tolist() == [14.0]
    with pytest.raises(RuntimeError, match="has been freed"):
        node._raw_saved_self.register_hooks(identity, identity)


def test_save_on_cpu_keeps_values() -> None:
    x = leaf([2.0])
    with graph.save_on_cpu():
        y = x * x * x
    y.backward()
    assert x.grad.tolist() == [12.0]
    with pytest.raises(RuntimeError, match="pin_memory"):
        graph.save_on_cpu(pin_memory=True)


def test_saved_tensors_may_be_overwritten_inside_the_scope() -> None:
    a = leaf([1.0, 1.0, 1.0, 1.0])
    with graph.allow_mutation_on_saved_tensors() as saved:
        b = a.clone()
        part = b[0:2]
        out = (part**2).sum()
        b.mul_(3.0)
        part.add_(1.0)
        assert len(saved.cloned) == 1
        out.backward()
    assert a.grad.tolist() == [2.0, 2.0, 0.0, 0.0]


def test_mutation_scopes_end_with_their_graphs() -> None:
    a = leaf([1.0])
    with graph.allow_mutation_on_saved_tensors() as saved:
        b = a.clone()
        first, second = (b**2).sum(), (b**2).sum()
        b.sin_()
        saved.clear()
        with pytest.raises(AssertionError, match="after that scope ended"):
            first.backward()
        nested = graph.allow_mutation_on_saved_tensors()
        with pytest.raises(RuntimeError, match="cannot be nested"), nested:
            pass
    with pytest.raises(AssertionError, match="after that scope ended"):
        second.backward()


def test_only_freed_tensors_forbid_a_second_pass() -> None:
    x = leaf([1.0])
    y = x + 1.0
    y.backward()
    y.backward()
    assert x.grad.tolist() == [2.0]


def test_a_saved_tensor_tells_what_it_holds():
    x = torch.ones(3, requires_grad=True)
    raw = x.pow(2).grad_fn._raw_saved_self
    assert raw.unpack() is x and raw.data is x and raw.unpack_hook is None

    def unpack(number):
        return x.detach() * number

    raw.register_hooks(lambda tensor: 5, unpack)
    assert raw.data == 5 and raw.unpack_hook is unpack
    assert raw.unpack().tolist() == [5, 5, 5]
