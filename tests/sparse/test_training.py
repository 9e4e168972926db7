"""Sparse gradients: embeddings, their sums, the optimizers that take them."""

import numpy as np
import pytest

import pellucid as torch
from pellucid import nn
from pellucid.nn import functional
from tests.sparse.samples import assert_same, numbers

TABLE = numbers(0, 10, 4)
INDICES = np.random.default_rng(1).integers(0, 10, (6, 3))


def table():
    return torch.tensor(TABLE, requires_grad=True)


def test_the_gradient_of_an_embedding_has_the_rows_that_were_read():
    weight = table()
    functional.embedding(torch.tensor(INDICES), weight, 2, sparse=True).sum().backward()
    grad = weight.grad
    assert grad.is_sparse and (grad.sparse_dim(), grad.dense_dim()) == (1, 1)
    counted = INDICES[INDICES != 2]
    assert sorted(grad._indices()[0].tolist()) == sorted(counted.tolist())
    wanted = np.zeros_like(TABLE)
    np.add.at(wanted, counted, 1)
    assert_same(grad, wanted)


@pytest.mark.parametrize("by_frequency", [False, True])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_have_sparse_gradients(mode, by_frequency):
    if mode == "max" and by_frequency:
        return_kinds = {"scale_grad_by_freq": False}
    else:
        return_kinds = {"scale_grad_by_freq": by_frequency}
    grads = []
    for is_sparse in (True, False):
        weight = table()
        actual = functional.embedding_bag(
            torch.tensor(INDICES), weight, mode=mode, sparse=is_sparse, **return_kinds
        )
        actual.square().sum().backward()
        assert weight.grad.is_sparse is is_sparse
        grads.append(weight.grad)
    assert_same(grads[0], grads[1].numpy())


def test_gradients_add_up_sparse_or_dense():
    weight, indices = table(), torch.tensor(INDICES)

    def sparse_loss():
        return functional.embedding(indices, weight, sparse=True).sum()

    sparse_loss().backward()
    sparse_loss().backward()
    assert weight.grad.is_sparse
    once = np.zeros_like(TABLE)
    np.add.at(once, INDICES.ravel(), 1)
    assert_same(weight.grad, 2 * once)
    (weight * 3).sum().backward()
    assert_same(weight.grad, 2 * once + 3)
    assert weight.grad.layout is torch.strided
    sparse_loss().backward()
    assert_same(weight.grad, 3 * once + 3)
    weight.grad = None
    (sparse_loss() + (weight * weight).sum()).backward()
    assert_same(weight.grad, once + 2 * TABLE)


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, 0.1),
    "momentum": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9),
    "nesterov": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, nesterov=True),
    "adagrad": lambda p: torch.optim.Adagrad(p, 0.1, lr_decay=0.1),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_along_sparse_gradients_are_those_along_dense_ones(name):
    results = []
    for is_sparse in (True, False):
        weight = nn.Parameter(torch.tensor(TABLE))
        other = nn.Parameter(torch.ones(4))
        optimizer = OPTIMIZERS[name]([weight, other])
        for _ in range(4):
            optimizer.zero_grad()
            rows = functional.embedding(torch.tensor(INDICES), weight, sparse=is_sparse)
            (rows * other).square().sum().backward()
            nn.utils.clip_grad_norm_([weight, other], 20.0)
            optimizer.step()
        results.append((weight, other))
    assert_same(results[0][0], results[1][0].detach().numpy(), 1e-4)
    assert_same(results[0][1], results[1][1].detach().numpy(), 1e-4)


def test_sparse_adam_is_adam_for_the_rows_that_a_gradient_has():
    """Written out for a table of which the same rows get a gradient each time."""
    weight = nn.Parameter(torch.tensor(TABLE))
    optimizer = torch.optim.SparseAdam([weight], lr=0.1)
    reference = nn.Parameter(torch.tensor(TABLE[:5]))
    adam = torch.optim.Adam([reference], lr=0.1)
    indices = torch.tensor([0, 3, 3, 1, 4, 2])
    for _ in range(3):
        for parameter, chosen in ((weight, optimizer), (reference, adam)):
            chosen.zero_grad()
            is_sparse = parameter is weight
            rows = functional.embedding(indices, parameter, sparse=is_sparse)
            rows.square().sum().backward()
            chosen.step()
    assert_same(weight[:5], reference.detach().numpy(), 1e-4)
    assert_same(weight[5:], TABLE[5:])


def test_optimizers_that_read_whole_gradients_refuse_sparse_ones():
    weight = nn.Parameter(torch.tensor(TABLE))
    functional.embedding(torch.tensor(INDICES), weight, sparse=True).sum().backward()
    with pytest.raises(RuntimeError, match="consider SparseAdam"):
        torch.optim.Adam([weight]).step()
    with pytest.raises(RuntimeError, match="RMSprop does not support sparse"):
        torch.optim.RMSprop([weight]).step()
    with pytest.raises(RuntimeError, match="weight_decay"):
        torch.optim.SGD([weight], 0.1, weight_decay=0.1).step()
    weight.grad = None
    weight.sum().backward()
    with pytest.raises(RuntimeError, match="please consider Adam"):
        torch.optim.SparseAdam([weight]).step()
    with pytest.raises(ValueError, match="requires dense parameter"):
        torch.optim.SparseAdam([torch.sparse_coo_tensor((2, 2)).requires_grad_()])


def test_a_graph_with_learned_edges_needs_no_square_matrix():
    """100,000 nodes: a dense adjacency would take 40 GB."""
    count = 100_000
    draw = np.random.default_rng(0)
    edges = torch.tensor(draw.integers(0, count, (2, 3 * count)))
    weights = torch.ones(3 * count, requires_grad=True)
    features = torch.tensor(numbers(1, count, 4), requires_grad=True)
    adjacency = torch.sparse_coo_tensor(edges, weights, (count, count))
    hidden = torch.sparse.mm(adjacency, features).relu()
    torch.sparse.mm(adjacency, hidden).square().mean().backward()
    assert weights.grad.shape == (3 * count,) and features.grad.shape == features.shape
    assert bool(weights.grad.isfinite().all()) and weights.grad.abs().sum() > 0


def test_hooks_and_autograd_grad_see_sparse_gradients():
    x = torch.tensor(TABLE).to_sparse().requires_grad_()
    seen = []
    y = x * 2
    y.register_hook(lambda grad: seen.append(grad.layout))
    (actual,) = torch.autograd.grad(y.to_dense().sum(), x)
    assert actual.is_sparse and seen == [torch.sparse_coo]
    assert_same(actual, np.full_like(TABLE, 2))
