"""Gradients of DTensors under given placements and in given dtypes. The expected
numbers are PyTorch's; partial means are divided here, and not there.
"""

import pytest

import pellucid as torch
from pellucid.distributed.device_mesh import init_device_mesh
from pellucid.distributed.tensor import DTensor, Partial, Replicate, Shard
from tests.distributed.ranks import run_ranks

HALF, FULL, WIDE = torch.bfloat16, torch.float32, torch.float64


def given(rank):
    return torch.arange(8.0).view(4, 2) / 3 + 1 / 3 + rank * 0.1


def rank_casts(mesh, rank):
    """Values are moved in one dtype, gradients in another, where they are rounded."""
    moves = (
        (Shard(0), Replicate()),
        (Replicate(), Shard(0)),
        (Shard(0), Shard(1)),
        (Partial(), Replicate()),
        (Partial(), Shard(0)),
        (Partial("avg"), Replicate()),
        (Shard(0), Shard(0)),
    )
    for have, want in moves:
        for forward, backward in ((HALF, None), (None, HALF), (WIDE, HALF)):
            x = given(rank).requires_grad_()
            plain = given(rank).to(forward or FULL).requires_grad_()
            actual = DTensor.from_local(x, mesh, [have]).redistribute(
                placements=[want], forward_dtype=forward, backward_dtype=backward
            )
            expected = DTensor.from_local(plain, mesh, [have])
            expected = expected.redistribute(placements=[want])
            assert actual.dtype == (forward or FULL)
            assert torch.equal(actual.to_local(), expected.to_local())
            values = actual.to_local()
            factor = torch.arange(values.numel()).view(values.shape) / 7 + 0.01
            (values * factor.to(values.dtype)).sum().backward()
            own = factor.to(values.dtype).to(backward or FULL).float()
            (expected.to_local() * own.to(plain.dtype)).sum().backward()
            assert x.grad.dtype == FULL
            rounded = plain.grad.to(backward or FULL).float()
            torch.testing.assert_close(x.grad, rounded, rtol=0, atol=0)


def rank_differentiates_twice(mesh):
    x = given(0).double().requires_grad_()
    moved = DTensor.from_local(x, mesh, [Replicate()]).redistribute(
        placements=[Shard(0)], forward_dtype=FULL
    )
    loss = moved.to_local().pow(3).sum()
    (first,) = torch.autograd.grad(loss, x, create_graph=True)
    assert first.dtype == WIDE
    torch.testing.assert_close(first, 3 * x**2, rtol=1e-6, atol=0)
    first.sum().backward()
    torch.testing.assert_close(x.grad, 6 * x.detach(), rtol=1e-6, atol=0)


def rank_places_gradients(mesh, rank):
    factor = (rank + 1) * torch.arange(8.0).view(4, 2)
    x = given(rank).requires_grad_()
    shared = DTensor.from_local(x, mesh, [Replicate()])
    (shared.to_local(grad_placements=[Partial()]) * factor).sum().backward()
    assert torch.equal(x.grad, 3 * torch.arange(8.0).view(4, 2))
    x = given(rank).requires_grad_()
    shared = DTensor.from_local(x, mesh, [Replicate()], grad_placements=[Partial()])
    (shared.to_local() * torch.arange(8.0).view(4, 2)).sum().backward()
    total = x.grad.clone()
    torch.distributed.all_reduce(total)
    assert torch.equal(total, torch.arange(8.0).view(4, 2))
    for have, want in ((Shard(0), Replicate()), (Partial(), Shard(-1))):
        x = given(rank).requires_grad_()
        made = DTensor.from_local(x, mesh, [have], grad_placements=[want])
        with pytest.raises(RuntimeError, match="does not fit"):
            made.to_local().sum().backward()


def rank_makes_leaves(mesh, rank):
    x = given(rank)
    made = DTensor.from_local(x, mesh, [Shard(0)]).requires_grad_()
    assert made.is_leaf and not x.requires_grad
    made.to_local().sum().backward()
    assert x.grad is None and made.grad.shape == (8, 2)
    assert not DTensor.from_local(x.requires_grad_(), mesh, [Shard(0)]).is_leaf
    columns = DTensor.from_local(
        x.detach(), mesh, [Shard(0)], shape=(8, 2), stride=(1, 8)
    )
    assert columns.stride() == (1, 8)
    with pytest.raises(RuntimeError, match="needs its shape, too"):
        DTensor.from_local(x, mesh, [Shard(0)], stride=(2, 1))
    with pytest.raises(RuntimeError, match="not a DTensor"):
        DTensor.from_local(made, mesh, [Shard(0)])


def rank_asks_for_gradients(rank, size):
    mesh = init_device_mesh("cpu", (size,))
    rank_casts(mesh, rank)
    rank_differentiates_twice(mesh)
    rank_places_gradients(mesh, rank)
    rank_makes_leaves(mesh, rank)
    square = init_device_mesh("cpu", (size, 1))
    with pytest.raises(ValueError, match="in different ways"):
        DTensor.from_local(torch.ones(2), square, [Partial("sum"), Partial("max")])


def test_gradients_have_the_placements_and_dtypes_asked_for(tmp_path):
    run_ranks(rank_asks_for_gradients, 2, tmp_path)


def test_placements_are_printed_in_short():
    placements = Shard(1), Replicate(), Partial("avg")
    assert [str(each) for each in placements] == ["S(1)", "R", "P(avg)"]
    assert repr(placements) == "(Shard(dim=1), Replicate(), Partial(avg))"
