"""A small GPT trains equally under every kind of parallelism: with the same bits if the
order of sums is fixed (virtual ranks, ZeRO), else within rounding.
"""

import pytest

import pellucid as torch
from pellucid import distributed as dist
from pellucid.distributed.device_mesh import DeviceMesh
from pellucid.distributed.fsdp import fully_shard
from pellucid.distributed.optim import ZeroRedundancyOptimizer
from pellucid.distributed.tensor import Replicate, Shard
from pellucid.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    loss_parallel,
    parallelize_module,
)
from pellucid.nn import functional as F
from pellucid.nn.parallel import DistributedDataParallel
from tests.distributed.ranks import run_ranks
from tests.distributed.test_tensor import COLUMNS, by_sequence, language

STEPS, SHARDS = 3, 4
OPTIONS = {"lr": 0.1, "momentum": 0.9}


def batch(step):
    generator = torch.Generator().manual_seed(step)
    return torch.randint(0, 32, (8, 9), generator=generator)


def train(model, optimizer, place=0, count=1):
    """The losses of the whole batches, of which this process computes a part."""
    actual = []
    for step in range(STEPS):
        tokens = batch(step).chunk(count)[place]
        logits = model(tokens[:, :-1]).flatten(0, 1)
        loss = F.cross_entropy(logits, tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        actual.append(loss.detach())
    return actual


def whole_optimizer(model, group=None):
    return torch.optim.SGD(model.parameters(), **OPTIONS)


def shared_optimizer(model, group):
    return ZeroRedundancyOptimizer(
        model.parameters(), torch.optim.SGD, process_group=group, **OPTIONS
    )


def bits_of(model):
    return [p.detach().clone() for p in model.parameters()]


def rank_trains_to_the_bit(rank, size):
    """On 4 ranks, on the first 2 and on the first alone: the same parameters."""
    groups = {count: dist.new_group(list(range(count))) for count in (1, 2, 4)}
    seen = []
    for count in (1, 2, 4):
        if rank >= count:
            continue
        for make in (whole_optimizer, shared_optimizer):
            model = DistributedDataParallel(
                language(), process_group=groups[count], virtual_ranks=SHARDS
            )
            train(model, make(model, groups[count]), rank, count)
            seen.append(bits_of(model))
    for other in seen[1:]:
        assert all(map(torch.equal, seen[0], other))
    alone = language()
    train(alone, whole_optimizer(alone))
    assert not torch.equal(
        seen[0][0], language().table.weight
    )  # the loss has decreased
    for actual, expected in zip(seen[0], bits_of(alone), strict=True):
        torch.testing.assert_close(actual, expected, atol=1e-5, rtol=1e-4)


def rank_trains_within_rounding(rank, size):
    alone = language()
    expected = [loss.item() for loss in train(alone, whole_optimizer(alone))]
    mesh = DeviceMesh("cpu", list(range(size)))
    model = language()
    fully_shard(model.block)
    fully_shard(model)
    losses = torch.stack(train(model, whole_optimizer(model), rank, size))
    dist.all_reduce(losses, dist.ReduceOp.AVG)
    assert losses.tolist() == pytest.approx(expected, rel=1e-5)
    for actual, whole in zip(model.parameters(), alone.parameters(), strict=True):
        torch.testing.assert_close(actual.full_tensor(), whole, atol=1e-5, rtol=1e-4)
    for make in (by_columns, by_sequence):
        model = split_words(make(mesh), mesh)
        with loss_parallel():
            losses = train(model, whole_optimizer(model))
        actual = [loss.full_tensor().item() for loss in losses]
        assert actual == pytest.approx(expected, rel=1e-5), make


def by_columns(mesh):
    plan = {f"block.{name}": ColwiseParallel() for name in COLUMNS}
    plan |= {f"block.{name}": RowwiseParallel() for name in ("wo", "down")}
    plan["table"] = RowwiseParallel(input_layouts=Replicate())
    return parallelize_module(language(), mesh, plan)


def split_words(model, mesh):
    """Logits are sharded by words: the loss communicates numbers per row."""
    is_by_sequence = hasattr(model.out.weight, "placements")
    if is_by_sequence:
        fresh = language().out
        model.out = fresh
    part = Shard(1) if is_by_sequence else Replicate()
    style = ColwiseParallel(
        input_layouts=part, output_layouts=Shard(-1), use_local_output=False
    )
    parallelize_module(model.out, mesh, style)
    return model


def rank_trains(rank, size):
    rank_trains_to_the_bit(rank, size)
    rank_trains_within_rounding(rank, size)


def test_every_way_to_share_training_gives_the_same_model(tmp_path):
    assert len(run_ranks(rank_trains, 4, tmp_path)) == 4
