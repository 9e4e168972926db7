"""Checkpoints: same gradients, less saved, the same random numbers, errors."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest

import pellucid as torch
from pellucid.autograd import graph
from pellucid.utils.checkpoint import (
    CheckpointError,
    GraphExecGroup,
    checkpoint,
    checkpoint_sequential,
    set_checkpoint_early_stop,
)

modes = pytest.mark.parametrize("use_reentrant", [False, True])


def leaf(values: list) -> torch.Tensor:
    return torch.tensor(values, requires_grad=True)


def block(x: torch.Tensor) -> torch.Tensor:
    return (x.sin() * x).exp()


def gradient(function: Callable[..., torch.Tensor], values: list) -> list:
    x = leaf(values)
    function(x).sum().backward()
    return x.grad.tolist()


@modes
def test_gradients_are_those_without_a_checkpoint(use_reentrant: bool) -> None:
    actual = gradient(
        lambda x: checkpoint(block, x, use_reentrant=use_reentrant), [0.5, 1.5]
    )
    assert actual == gradient(block, [0.5, 1.5])


@modes
def test_random_numbers_repeat(use_reentrant: bool) -> None:
    def noisy(x: torch.Tensor) -> torch.Tensor:
        return x * torch.rand(4) * torch.rand(4)

    torch.manual_seed(3)
    factors = torch.rand(4) * torch.rand(4)
    torch.manual_seed(3)
    x = leaf([1.0, 1.0, 1.0, 1.0])
    y = checkpoint(noisy, x, use_reentrant=use_reentrant)
    after = torch.rand(1)
    y.sum().backward()
    assert x.grad.tolist() == factors.tolist()
    state = torch.get_rng_state()
    torch.manual_seed(3)
    torch.rand(4), torch.rand(4)
    assert torch.rand(1).tolist() == after.tolist()
    assert torch.get_rng_state().tolist() == state.tolist()


def test_a_reentrant_checkpoint_inside_another_kind_keeps_gradients() -> None:
    w = leaf([2.0])

    def outer(x: torch.Tensor) -> torch.Tensor:
        return checkpoint(torch.sin, x * w, use_reentrant=True).cos()

    x = leaf([0.5])
    checkpoint(outer, x, use_reentrant=False).sum().backward()
    (expected,) = torch.autograd.grad((x * w).sin().cos().sum(), x)
    assert x.grad is not None and x.grad.tolist() == expected.tolist()
    assert w.grad is not None and w.grad.item() != 0


@modes
@pytest.mark.filterwarnings("ignore:none of the inputs")
def test_checkpoints_nest(use_reentrant: bool) -> None:
    calls = [0]

    def inner(x: torch.Tensor) -> torch.Tensor:
        calls[0] += 1
        return x.sin().exp()

    def outer(x: torch.Tensor) -> torch.Tensor:
        y = checkpoint(inner, x, use_reentrant=use_reentrant)
        return checkpoint(inner, y, use_reentrant=use_reentrant) * x

    actual = gradient(
        lambda x: checkpoint(outer, x, use_reentrant=use_reentrant), [0.5]
    )
    assert actual == pytest.approx(
        gradient(lambda x: x.sin().exp().sin().exp() * x, [0.5])
    )
    assert calls[0] >= 4


def test_nothing_inside_is_saved_until_backward() -> None:
    import weakref

    alive: list[Any] = []

    def remembering(x: torch.Tensor) -> torch.Tensor:
        y = x.exp()
        alive.append(weakref.ref(y))
        return y * y

    z = checkpoint(remembering, leaf([1.0]), use_reentrant=False)
    gc.collect()
    assert alive[0]() is None
    z.backward()
    gc.collect()
    assert [ref() for ref in alive] == [None, None]


def test_the_second_run_stops_when_it_has_what_is_needed() -> None:
    reached: list[str] = []

    def function(x: torch.Tensor) -> torch.Tensor:
        y = x.exp() * 2.0
        reached.append("end")
        return y

    checkpoint(function, leaf([1.0]), use_reentrant=False).backward()
    assert reached == ["end"]
    with set_checkpoint_early_stop(False):
        y = checkpoint(function, leaf([1.0]), use_reentrant=False)
    y.backward()
    assert reached == ["end"] * 3


def test_keywords_structures_and_grad_work_without_reentry() -> None:
    def function(x: torch.Tensor, *, others: dict) -> tuple[torch.Tensor, int]:
        return x * others["scale"].sin(), 3

    x, scale = leaf([2.0]), leaf([0.5])
    y, number = checkpoint(function, x, use_reentrant=False, others={"scale": scale})
    assert number == 3
    by_x, by_scale = torch.autograd.grad(y, [x, scale], create_graph=True)
    assert by_x.item() == pytest.approx(0.479426, abs=1e-5)
    (second,) = torch.autograd.grad(by_scale, scale)
    assert second.item() == pytest.approx(-2 * 0.479426, abs=1e-5)


def test_two_passes_recompute_twice_unless_they_share() -> None:
    runs = [0]

    def function(x: torch.Tensor) -> torch.Tensor:
        runs[0] += 1
        return x.exp().sin()

    x = leaf([1.0])
    y = checkpoint(function, x, use_reentrant=False)
    y.backward(retain_graph=True)
    y.backward()
    assert runs == [3]
    runs[0] = 0
    with GraphExecGroup():
        checkpoint(function, x, use_reentrant=False).backward()
    assert runs == [2]


def test_a_function_that_does_something_else_again_is_an_error() -> None:
    sizes = iter([2, 3])

    def changing(x: torch.Tensor) -> torch.Tensor:
        return x.expand(next(sizes)).exp().sum()

    y = checkpoint(changing, leaf([1.0]), use_reentrant=False, debug=True)
    with pytest.raises(CheckpointError, match=r"shape \[2\]") as error:
        y.backward()
    assert "expand(next(sizes)).exp()" in str(error.value)
    again = iter([True, False])

    def fewer(x: torch.Tensor) -> torch.Tensor:
        return x.exp().sin() if next(again) else x.exp()

    y = checkpoint(fewer, leaf([1.0]), use_reentrant=False)
    with pytest.raises(CheckpointError, match="different number of tensors"):
        y.backward()


def test_unchecked_differences_pass() -> None:
    sizes, x = iter([2, 2]), leaf([1.0])
    y = checkpoint(
        lambda x: x.expand(next(sizes)).exp().sum(),
        x,
        use_reentrant=False,
        determinism_check="none",
    )
    y.backward()
    assert torch.allclose(x.grad, 2 * x.detach().exp())


def test_contexts_surround_the_two_runs() -> None:
    entered: list[str] = []

    class Noting:
        def __init__(self, name: str) -> None:
            self.name = name

        def __enter__(self) -> None:
            entered.append(self.name)

        def __exit__(self, *_: object) -> None:
            pass

    y = checkpoint(
        block,
        leaf([1.0]),
        use_reentrant=False,
        context_fn=lambda: (Noting("first"), Noting("second")),
    )
    assert entered == ["first"]
    y.backward()
    assert entered == ["first", "second"]


@modes
def test_sequences_run_in_segments(use_reentrant: bool) -> None:
    torch.manual_seed(0)
    layers = [torch.nn.Linear(3, 3) for _ in range(5)]
    model = torch.nn.Sequential(*layers)
    x = torch.randn(2, 3, requires_grad=True)
    y = checkpoint_sequential(model, 2, x, use_reentrant=use_reentrant)
    y.sum().backward()
    actual = layers[0].weight.grad.tolist()
    model.zero_grad()
    model(x).sum().backward()
    assert actual == layers[0].weight.grad.tolist()


def test_outer_hooks_see_the_arguments_alone() -> None:
    packed: list[list] = []

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        packed.append(tensor.tolist())
        return tensor

    with graph.saved_tensors_hooks(pack, lambda t: t):
        checkpoint(block, leaf([0.5]), use_reentrant=False)
    assert packed == [[0.5]]


def test_without_grad_mode_a_checkpoint_is_the_function() -> None:
    with torch.no_grad():
        y = checkpoint(block, leaf([0.5]), use_reentrant=False)
    assert not y.requires_grad


def test_errors_of_reentrant_checkpoints() -> None:
    x = leaf([1.0])
    y = checkpoint(block, x, use_reentrant=True)
    with pytest.raises(RuntimeError, match="use_reentrant=False"):
        torch.autograd.grad(y, x)
    with pytest.raises(ValueError, match="takes no keywords"):
        checkpoint(block, x, use_reentrant=True, scale=3)
    with pytest.raises(ValueError, match="context_fn and debug"):
        checkpoint(block, x, use_reentrant=True, debug=True)
    with pytest.warns(UserWarning, match="none of the inputs"):
        checkpoint(block, torch.tensor([1.0]), use_reentrant=True)
    with pytest.warns(UserWarning, match="use_reentrant explicitly"):
        checkpoint(block, x)
    y = checkpoint(lambda t: t.detach(), x, use_reentrant=True)
    with pytest.raises(RuntimeError, match="no output of the checkpointed"):
        y.backward()


def test_other_errors() -> None:
    x = leaf([1.0])
    with pytest.raises(ValueError, match="determinism_check"):
        checkpoint(block, x, use_reentrant=False, determinism_check="maybe")
    with pytest.raises(ValueError, match="unexpected keyword"):
        checkpoint_sequential([block], 1, x, use_reentrant=False, depth=1)
