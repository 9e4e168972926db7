"""Parts of a tensor, inference tensors, hooks on several gradients, gradcheck."""

from __future__ import annotations

import gc
from typing import Any

import pytest

import pellucid as torch
from pellucid.autograd import GradcheckError, gradcheck, graph


def leaf(values: list) -> torch.Tensor:
    return torch.tensor(values, requires_grad=True)


def test_parts_are_outputs_of_one_node() -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    first, second = x.unbind(0)
    assert first.grad_fn is second.grad_fn
    assert first.grad_fn.name() == "UnbindBackward0"
    assert (first.output_nr, second.output_nr) == (0, 1)
    (second * torch.tensor([5.0, 6.0])).sum().backward()
    assert x.grad.tolist() == [[0.0, 0.0], [5.0, 6.0]]


@pytest.mark.parametrize(
    ("cut", "name"),
    [
        (lambda x: x.split(2), "SplitBackward0"),
        (lambda x: x.split([1, 2]), "SplitWithSizesBackward0"),
        (lambda x: x.chunk(2), "SplitBackward0"),
        (lambda x: x.unbind(), "UnbindBackward0"),
    ],
)
def test_gradients_of_parts_of_any_order(cut: Any, name: str) -> None:
    x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
    assert cut(x)[0].grad_fn.name() == name

    def cubes(x: torch.Tensor) -> torch.Tensor:
        return sum((part**3).sum() for part in cut(x))

    (first,) = torch.autograd.grad(cubes(x), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert first.tolist() == [3.0, 12.0, 27.0]
    assert second.tolist() == [6.0, 12.0, 18.0]


def test_inference_tensors_know_where_they_were_made() -> None:
    x = torch.ones(2)
    with torch.inference_mode():
        result, view = torch.zeros(2), x[0]
        assert result.is_inference()
        assert not view.is_inference()
        result.add_(1.0)
        with torch.inference_mode(False):
            assert not torch.ones(1).is_inference()
    assert result[0].is_inference()
    assert not result.clone().is_inference()
    assert (leaf([1.0, 2.0]) + result).requires_grad


def test_no_grad_leaves_inference_mode_on() -> None:
    with torch.inference_mode():
        with torch.no_grad():
            assert torch.is_inference_mode_enabled()
        assert torch.nn.Linear(2, 3).weight.is_inference()


def test_hooks_on_several_gradients() -> None:
    x, y = leaf([1.0]), leaf([2.0])
    a, b = x * 2.0, y * 3.0
    everything: list = []
    first: list = []
    handle = graph.register_multi_grad_hook(
        [a, b], lambda g: everything.append([t if t is None else t.item() for t in g])
    )
    graph.register_multi_grad_hook([a, b], lambda g: first.append(g.item()), mode="any")
    (a * 4.0 + b).backward(retain_graph=True)
    assert everything == [[4.0, 1.0]]
    assert len(first) == 1
    a.backward(retain_graph=True)
    assert everything[1:] == [[1.0, None]]
    handle.remove()
    (a + b).backward()
    assert len(everything) == 2
    assert len(first) == 3


def test_hooks_on_several_gradients_keep_nothing_alive() -> None:
    import weakref

    class Witness:
        pass

    witness = Witness()
    x = leaf([1.0])
    y = x * 2.0
    graph.register_multi_grad_hook([x, y], lambda g, kept=witness: None)
    y.backward()
    alive = weakref.ref(witness)
    del x, y, witness
    gc.collect()
    assert alive() is None


def test_callbacks_run_when_a_pass_ends() -> None:
    order: list[str] = []
    queue = torch.autograd.Variable._execution_engine.queue_callback
    x, y = leaf([1.0]), leaf([1.0])
    z = x * y
    z.register_hook(lambda gradient: queue(lambda: order.append("end")))
    x.register_post_accumulate_grad_hook(lambda tensor: order.append("x"))
    y.register_post_accumulate_grad_hook(lambda tensor: order.append("y"))
    z.backward()
    assert sorted(order[:2]) == ["x", "y"]
    assert order[2:] == ["end"]


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, factor: float = 2.0) -> torch.Tensor:
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        return gradient * ctx.factor, None


def test_a_context_outlives_its_tensor() -> None:
    x = leaf([1.0])
    node = Twice.apply(x, 2.0).grad_fn
    gc.collect()
    assert node.name() == "TwiceBackward"
    assert node.next_functions[0][0].variable is x
    edge = graph.GradientEdge(node, 0)
    assert torch.autograd.grad(edge, x)[0].tolist() == [2.0]


def test_apply_takes_keywords() -> None:
    x = leaf([1.0])
    Twice.apply(x, factor=3.0).backward()
    assert x.grad.tolist() == [3.0]


def test_modes_decorate_classes_with_a_warning() -> None:
    seen: list[bool] = []
    with pytest.warns(FutureWarning, match="decorate the methods"):

        @torch.no_grad()
        class Model:
            def __init__(self) -> None:
                seen.append(torch.is_grad_enabled())

    Model()
    assert seen == [False]
    with torch.autograd.set_multithreading_enabled(False):
        pass


def test_reading_grad_of_a_result_warns() -> None:
    y = leaf([1.0]) * 2.0
    with pytest.warns(UserWarning, match="not a leaf"):
        assert y.grad is None
    y.retain_grad()
    assert y.grad is None


def test_gradcheck_covers_forward_mode_and_batches() -> None:
    x = torch.tensor([0.5, 1.5], dtype=torch.float64, requires_grad=True)
    options = {"check_forward_ad": True, "check_batched_grad": True}
    for fast in (False, True):
        assert gradcheck(
            lambda t: (t.sin() * t, t.exp()),
            x,
            fast_mode=fast,
            check_batched_forward_grad=True,
            **options,
        )

    class WrongTangent(torch.autograd.Function):
        @staticmethod
        def forward(x: torch.Tensor) -> torch.Tensor:
            return x * 2.0

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
            return gradient * 2.0

        @staticmethod
        def jvp(ctx: Any, tangent: torch.Tensor) -> torch.Tensor:
            return tangent * 3.0

    assert gradcheck(WrongTangent.apply, x)
    with pytest.raises(GradcheckError, match="forward mode for output 0"):
        gradcheck(WrongTangent.apply, x, check_forward_ad=True)
