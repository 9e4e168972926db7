"""Nodes as Python objects, hooks, views in the graph, memory and threads."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import pytest

import pellucid as torch
from pellucid.autograd import graph


def leaf(values: list) -> torch.Tensor:
    return torch.tensor(values, requires_grad=True)


def test_nodes_show_what_made_a_tensor() -> None:
    x = leaf([1.0, 2.0])
    y = x * x
    node = y.grad_fn
    assert type(node).__name__ == node.name() == "MulBackward0"
    assert repr(node).startswith("<") and "MulBackward0" in repr(node)
    assert isinstance(node, graph.Node)
    assert node is y.grad_fn
    assert x.grad_fn is None
    (first, number), _ = node.next_functions
    assert (first.name(), number) == ("torch::autograd::AccumulateGrad", 0)
    assert first.variable is x
    assert node._saved_self is x


def test_metadata_lives_with_the_node() -> None:
    y = leaf([1.0]) * 2.0
    y.grad_fn.metadata["key"] = "value"
    assert y.grad_fn.metadata == {"key": "value"}


def test_saved_values_are_freed_by_backward() -> None:
    x = leaf([1.0])
    y = x * x
    y.sum().backward()
    with pytest.raises(RuntimeError, match="freed"):
        _ = y.grad_fn._saved_self


def test_hooks_run_in_pytorch_s_order() -> None:
    order: list[str] = []

    def note(name: str) -> Any:
        return lambda *_: order.append(name)

    x = leaf([1.0])
    y = x * 2.0
    y.grad_fn.register_hook(note("node after"))
    y.grad_fn.register_prehook(note("node before"))
    y.register_hook(note("tensor"))
    x.register_hook(note("leaf"))
    x.register_post_accumulate_grad_hook(note("accumulated"))
    y.sum().backward()
    assert order == ["tensor", "node before", "node after", "leaf", "accumulated"]


def test_hooks_replace_gradients_and_can_be_removed() -> None:
    x = leaf([1.0])
    y = x * 2.0
    handle = y.register_hook(lambda g: g * 10.0)
    y.retain_grad()
    y.sum().backward(retain_graph=True)
    assert (y.grad.tolist(), x.grad.tolist()) == ([10.0], [20.0])
    handle.remove()
    x.grad = None
    y.sum().backward()
    assert x.grad.tolist() == [2.0]


@pytest.mark.parametrize(
    ("result", "error", "message"),
    [
        (7, TypeError, "'int'"),
        (torch.ones(7), RuntimeError, "changed the size of value"),
        (torch.ones(1, dtype=torch.float64), RuntimeError, "changed the type of value"),
    ],
)
def test_wrong_results_of_hooks(
    result: Any, error: type[Exception], message: str
) -> None:
    y = leaf([1.0]) * 2.0
    y.register_hook(lambda g: result)
    with pytest.raises(error, match=message):
        y.sum().backward()


def test_gradient_edges_replace_tensors() -> None:
    x = leaf([1.0, 2.0])
    y = x * x
    edge = graph.get_gradient_edge(y)
    z = (y * 3.0).sum()
    del y
    (g,) = torch.autograd.grad(z, edge)
    assert g.tolist() == [3.0, 3.0]


def test_a_write_through_a_view_rebases_the_base() -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    y = x * x
    row, other = y[0], y[1]
    row.mul_(torch.tensor([5.0, 6.0]))
    assert y.grad_fn.name() == "torch::autograd::CopySlices"
    assert row.grad_fn.name() == "AsStridedBackward0"
    (y.sum() + (row * other).sum()).backward()
    assert x.grad.tolist() == [[10 + 90.0, 24 + 384.0], [6 + 30.0, 8 + 192.0]]


def test_assignment_records_gradients_of_the_value() -> None:
    w = leaf([1.0, 2.0])
    table = torch.zeros(3, 2)
    for i in range(3):
        table[i] = w * float(i)
    table.sum().backward()
    assert w.grad.tolist() == [3.0, 3.0]


def test_views_of_a_base_that_came_to_need_gradients() -> None:
    w = leaf([2.0, 2.0])
    base = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    row = base[1]
    base.mul_(w)
    assert row.requires_grad
    (row * torch.tensor([1.0, 10.0])).sum().backward()
    assert w.grad.tolist() == [3.0, 40.0]


def test_a_view_made_without_gradients_is_ambiguous_after_a_write() -> None:
    x = torch.ones(2, requires_grad=True).clone()
    with torch.no_grad():
        view = x[:1]
    assert view.grad_fn is None
    x.add_(1.0)
    with pytest.raises(RuntimeError, match="made in no_grad mode"):
        view.grad_fn  # noqa: B018


def test_an_assignment_at_indices_is_a_node_of_the_tensor() -> None:
    values, target = torch.ones(2, requires_grad=True), torch.zeros(4)
    target[torch.tensor([0, 2])] = values
    assert target.grad_fn.name() == "IndexPutBackward0"
    target = torch.zeros(4, 4)
    target[1:, torch.tensor([0, 2])] = values
    assert target.grad_fn.name() == "torch::autograd::CopySlices"


def test_ambiguous_writes_are_refused() -> None:
    w = leaf([1.0, 1.0])
    base = torch.zeros(2, 2)
    with torch.no_grad():
        row = base[0]
    with pytest.raises(RuntimeError, match="no_grad mode"):
        row.mul_(w)


def test_a_graph_of_100000_nodes() -> None:
    x = leaf([1.0])
    one = torch.tensor([1.0])
    y = x
    for _ in range(100_000):
        y = y * one
    y.backward()
    assert x.grad.tolist() == [1.0]
    del y


def test_training_steps_leak_nothing() -> None:
    x, w = torch.ones(4), leaf([1.0, 2.0, 3.0, 4.0])

    def step() -> None:
        (x * w * w).sum().backward()
        w.grad = None

    for _ in range(3):  # repeated calls stay cached
        step()
    gc.collect()
    before = torch._C._memory_statistics()
    for _ in range(10_000):
        step()
    after = torch._C._memory_statistics()
    assert after["allocated_bytes"] == before["allocated_bytes"]


def test_objects_owned_by_a_graph_are_freed_with_it() -> None:
    class Kept:
        pass

    kept = Kept()
    seen = weakref.ref(kept)
    x = leaf([1.0])
    y = x * 2.0
    y.register_hook(lambda g, kept=kept: None)
    y.grad_fn.metadata["kept"] = kept
    del kept
    assert seen() is not None
    del y
    assert seen() is None


def test_short_and_long_passes_share_a_leaf_on_several_threads() -> None:
    # Short ops hold the GIL; hooks request it while the leaf is locked.
    weight = torch.zeros(4, requires_grad=True)
    weight.register_hook(lambda grad: grad * 1.0)

    def work(rows: int) -> None:
        x = torch.ones(rows, 4)
        for _ in range(20):
            (x * weight).mean(0).sum().backward()

    threads = [threading.Thread(target=work, args=(n,)) for n in (1, 2, 20000, 20000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert weight.grad is not None
    assert torch.allclose(weight.grad, torch.full((4,), 80.0))


def test_backward_on_several_threads() -> None:
    x = leaf([1.0, 2.0])
    shared = x * 2.0
    roots = [(shared * float(i)).sum() for i in range(4)]
    errors: list[BaseException] = []

    def work(root: torch.Tensor) -> None:
        try:
            for _ in range(100):
                root.backward(retain_graph=True)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(root,)) for root in roots]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert x.grad.tolist() == [1200.0, 1200.0]


def test_nodes_show_the_arguments_that_chose_their_loop() -> None:
    x = torch.ones(2, 3, requires_grad=True)
    node = x.sum(1, keepdim=True).grad_fn
    assert (node._saved_dim, node._saved_keepdim) == ((1,), True)
    assert node._saved_self_sym_sizes == (2, 3)
    assert {"_saved_dim", "_saved_self_sym_sizes"} <= set(dir(node))
    assert x.transpose(0, 1).grad_fn._saved_dim1 == 1
    assert torch.add(x, x, alpha=2).grad_fn._saved_alpha == 2
    assert (x + 1).grad_fn._saved_alpha == 1
    assert x.prod(0).grad_fn._saved_dim == 0
    images, kernel = torch.ones(1, 1, 4, 4), torch.ones(1, 1, 2, 2, requires_grad=True)
    node = torch.conv2d(images, kernel, stride=2).grad_fn
    assert node._saved_stride == (2, 2) and node._saved_groups == 1
    assert node._saved_padding == (0, 0)
    assert x.softmax(1).grad_fn._saved_dim == 1
    assert x.unfold(1, 2, 1).grad_fn._saved_dimension == 1


def test_only_accumulators_have_a_variable() -> None:
    x = leaf([1.0])
    y = x * 2.0
    assert not hasattr(y.grad_fn, "variable")
    assert y.grad_fn.next_functions[0][0].variable is x


def test_nodes_are_functions_of_gradients() -> None:
    x = leaf([2.0, 3.0])
    first, second = (x * x.exp()).grad_fn(torch.ones(2))
    assert torch.equal(first, x.exp()) and torch.equal(second, x)
    assert (x * 2).grad_fn(None) == (None, None)
    assert x.exp().grad_fn(torch.ones(2)).tolist() == x.exp().tolist()
    for wrong in ((), (3,), (torch.ones(2), torch.ones(2))):
        with pytest.raises(TypeError):
            x.exp().grad_fn(*wrong)


def test_draws_and_comparisons_in_place_pass_zeros_on() -> None:
    for write in (
        lambda t: t.normal_(),
        lambda t: t.uniform_(),
        lambda t: t.bernoulli_(0.5),
        lambda t: t.eq_(1.0),
    ):
        x = leaf([1.0, 2.0])
        y = x * 1
        write(y)
        assert y.requires_grad
        y.sum().backward()
        assert x.grad is not None and x.grad.tolist() == [0.0, 0.0]


def test_nothing_is_recorded_in_inference_mode() -> None:
    x = leaf([1.0])
    with torch.inference_mode(), torch.enable_grad():
        y = x * 2
    assert y.is_inference() and not y.requires_grad
    assert torch.is_inference(y) and not torch.is_inference(x)


def test_real_and_complex_gradients_do_not_mix() -> None:
    x = leaf([1.0])
    with pytest.raises(RuntimeError, match="complex"):
        (x + 1j).sum().backward(torch.tensor(1.0))
    with pytest.raises(RuntimeError, match="complex"):
        x.sum().backward(torch.tensor(1j))

    class Rotate(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x * 1

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            return grad * 1j

    with pytest.raises(RuntimeError, match="complex gradient"):
        Rotate.apply(x).sum().backward()


def test_hooks_of_nodes_return_tuples() -> None:
    x = leaf([1.0])
    y = x.exp()
    y.grad_fn.register_hook(lambda inputs, outputs: inputs[0] * 2)
    with pytest.raises(TypeError, match="tuple"):
        y.sum().backward()


def test_indices_and_masks_are_not_inputs() -> None:
    x, y = torch.rand(3, 3, requires_grad=True), torch.rand(3, 3, requires_grad=True)
    index, mask = torch.zeros(3, 3, dtype=torch.int64), x.detach() > 0.5
    inputs = {
        x.gather(0, index): [x],
        x.masked_fill(mask, 0.0): [x],
        torch.where(mask, x, y): [x, y],
        x.scatter_add(0, index, y): [x, y],
        x.index_select(0, index[0]): [x],
        x.index_add(0, index[0], y): [x, y],
        torch.where(mask, 0.0, y): [None, y],
        x * index: [x, None],
        x * 2: [x, None],
    }
    for result, leaves in inputs.items():
        nodes = [node for node, _ in result.grad_fn.next_functions]
        assert [n and id(n.variable) for n in nodes] == [
            t if t is None else id(t) for t in leaves
        ], result.grad_fn
    gradient = x.gather(0, index).grad_fn(torch.ones(3, 3))
    assert gradient[0].tolist() == [3, 3, 3]


def test_hooks_see_the_gradients_of_inputs() -> None:
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    result = torch.where(torch.tensor([True, False]), x, y)
    seen: list[Any] = []

    def double(inputs: Any, outputs: Any) -> Any:
        seen.append((len(inputs), len(outputs)))
        return tuple(2 * g for g in inputs)

    result.grad_fn.register_hook(double)
    result.sum().backward()
    assert seen == [(2, 1)]
    assert x.grad.tolist() == [2, 0] and y.grad.tolist() == [0, 2]


def test_hooks_of_several_gradients_keep_none_of_them() -> None:
    x = torch.ones(3, requires_grad=True)
    first = x * 2
    second = first.exp()
    kept: list[Any] = []
    alive: list[bool] = []
    graph.register_multi_grad_hook(
        [second], lambda found: kept.append(weakref.ref(found[0]))
    )
    x.register_hook(lambda _: alive.append(kept[0]() is not None))
    second.sin().sum().backward()
    assert alive == [False]
