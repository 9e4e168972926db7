"""Differentiable collectives, ZeroRedundancyOptimizer, averagers and meshes."""

import pytest

import pellucid as torch
import pellucid.distributed.nn as collectives
from pellucid import distributed as dist
from pellucid.distributed.algorithms.join import Join
from pellucid.distributed.algorithms.model_averaging.averagers import (
    PeriodicModelAverager,
)
from pellucid.distributed.optim import PostLocalSGDOptimizer, ZeroRedundancyOptimizer
from pellucid.utils.data import DistributedSampler
from tests.distributed.ranks import run_ranks
from tests.distributed.test_data_parallel import close, data, network


def rank_differentiates(rank, size):
    def leaf(*shape):
        return torch.full(shape, rank + 1.0, requires_grad=True)

    x = leaf(2)
    (collectives.all_reduce(x * x) * (rank + 1)).sum().backward()
    total = sum(range(1, size + 1))
    assert x.grad.tolist() == [2 * (rank + 1) * total] * 2
    x = leaf(2)
    gathered = collectives.all_gather(x)
    assert [int(part[0]) for part in gathered] == list(range(1, size + 1))
    sum(part.sum() * (r + 1) for r, part in enumerate(gathered)).backward()
    assert x.grad.tolist() == [(rank + 1) * size] * 2
    x = leaf(size, 3)
    got = collectives.reduce_scatter(torch.empty(3), list(x.unbind(0)))
    assert got.tolist() == [total] * 3
    (got * (rank + 1)).sum().backward()
    assert x.grad[:, 0].tolist() == [r + 1 for r in range(size)]
    x = leaf(size)
    got = collectives.all_to_all_single(torch.empty(size), x)
    (got * (rank + 1)).sum().backward()
    assert x.grad.tolist() == [r + 1 for r in range(size)]
    x = leaf(1)
    (collectives.broadcast(x, 0) * (rank + 1)).sum().backward()
    assert float(x.grad) == (total if rank == 0 else 0)


def alike(left, right):
    for a, b in zip(left, right, strict=True):
        torch.testing.assert_close(a, b, atol=1e-4, rtol=1e-4)


def rank_normalizes_over_all_batches(rank, size):
    torch.manual_seed(3)
    x, target = torch.randn(4 * size, 3, 5), torch.randn(4 * size, 3, 5)
    one, group = torch.nn.BatchNorm1d(3), torch.nn.SyncBatchNorm(3)
    cuts = [0, 3, *(3 + 4 * r for r in range(1, size - 1)), 4 * size]  # uneven
    own = slice(cuts[rank], cuts[rank + 1])
    whole = x.clone().requires_grad_()
    part = x[own].clone().requires_grad_()
    for _ in range(2):
        (one(whole) * target).sum().backward()
        (group(part) * target[own]).sum().backward()
    for parameter in group.parameters():
        dist.all_reduce(parameter.grad)
    alike([part.grad], [whole.grad[own]])
    alike([p.grad for p in group.parameters()], [p.grad for p in one.parameters()])
    alike(group.buffers(), one.buffers())
    group.eval()
    one.eval()
    alike([group(part)], [one(whole)[own]])
    alone = dist.new_group([0])
    if rank == 0:
        layer = torch.nn.SyncBatchNorm(3, process_group=alone)
        alike([layer(x)], [torch.nn.BatchNorm1d(3)(x)])
    with pytest.raises(ValueError, match="more than 1 value"):
        torch.nn.SyncBatchNorm(2)(torch.ones(1 if rank == 0 else 0, 2))


def rank_shares_optimizer_state(rank, size):
    x, y = data()
    expected, model = network(), network()
    whole = torch.optim.Adam(expected.parameters(), lr=0.01)
    shared = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.01)
    for net, optimizer in ((expected, whole), (model, shared)):
        for _ in range(3):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(net(x), y).backward()
            optimizer.step()
    assert close(model.parameters(), expected.parameters())
    count = len(list(model.parameters()))
    assert 0 < len(shared.optim.state) < count
    shared.consolidate_state_dict(to=0)
    if rank == 0:
        actual = shared.state_dict()
        assert len(actual["state"]) == count
        for number, state in whole.state_dict()["state"].items():
            assert torch.allclose(actual["state"][number]["exp_avg"], state["exp_avg"])
    else:
        with pytest.raises(RuntimeError, match="consolidate_state_dict"):
            shared.state_dict()
    listed = [shared.state_dict() if rank == 0 else None]
    dist.broadcast_object_list(listed, src=0)
    fresh = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.5)
    fresh.load_state_dict(listed[0])
    assert fresh.param_groups[0]["lr"] == 0.01
    assert len(fresh.optim.state) == len(shared.optim.state)
    rank_optimizes_uneven_inputs(rank, size)


def rank_optimizes_uneven_inputs(rank, size):
    """Ranks without inputs update their share for the others."""
    sampler = DistributedSampler(range(2 * size), shuffle=False)
    assert list(sampler) == [rank, rank + size]
    model = torch.nn.parallel.DistributedDataParallel(network())
    shared = ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, lr=0.1)
    before = [p.detach().clone() for p in model.parameters()]
    with Join([model, shared]):
        for _ in range(2 + rank):
            shared.zero_grad()
            model(torch.ones(4, 6)).sum().backward()
            shared.step()
    after = [p.detach().clone() for p in model.parameters()]
    for was, each in zip(before, after, strict=True):
        first = each.clone()
        dist.broadcast(first, 0)
        assert torch.equal(first, each) and not torch.equal(was, each)


def rank_averages(rank, size):
    parameter = torch.nn.Parameter(torch.full((2,), float(rank)))
    averager = PeriodicModelAverager(period=2, warmup_steps=1)
    local = torch.optim.SGD([parameter], lr=0.0)
    optimizer = PostLocalSGDOptimizer(local, averager)
    seen = []
    for _ in range(2):
        parameter.grad = torch.zeros(2)
        optimizer.step()
        seen.append(float(parameter[0].detach()))
    assert seen == [float(rank), (size - 1) / 2]
    assert optimizer.state_dict()["step"] == 2


def rank_forms_a_mesh(rank, size):
    mesh = dist.init_device_mesh("cpu", (2, size // 2), mesh_dim_names=("dp", "tp"))
    assert mesh.shape == (2, size // 2) and mesh.size() == size
    assert mesh.get_coordinate() == (rank // (size // 2), rank % (size // 2))
    assert dist.get_process_group_ranks(mesh["dp"].get_group()) == [
        rank % (size // 2),
        rank % (size // 2) + size // 2,
    ]
    number = torch.tensor([rank])
    dist.all_reduce(number, group=mesh.get_group("tp"))
    first = rank // (size // 2) * (size // 2)
    assert int(number) == sum(range(first, first + size // 2))
    with pytest.raises(KeyError, match="pp"):
        mesh.get_group("pp")
    with pytest.raises(RuntimeError, match="mesh_dim"):
        mesh.get_group()


def rank_does_all(rank, size):
    rank_differentiates(rank, size)
    rank_shares_optimizer_state(rank, size)
    rank_normalizes_over_all_batches(rank, size)
    rank_averages(rank, size)
    rank_forms_a_mesh(rank, size)


@pytest.mark.parametrize("size", [2, 4])
def test_parts_of_training(size, tmp_path):
    run_ranks(rank_does_all, size, tmp_path)
