"""Groups made from groups, and questions about backends."""

import time
from datetime import timedelta

import pytest

import pellucid as torch
from pellucid import distributed as dist
from pellucid.distributed import _symmetric_memory as symmetric
from pellucid.distributed import distributed_c10d as c10d
from tests.distributed.ranks import run_ranks


def calls_several_at_once(rank, size):
    world = dist.group.WORLD
    own = [torch.full((n,), float(rank)) for n in (2, 3)]
    whole = [torch.empty(size * n) for n in (2, 3)]
    world.allgather_into_tensor_coalesced(whole, own).wait()
    assert [x.view(size, -1)[:, 0].tolist() for x in whole] == [[0.0, 1, 2, 3]] * 2
    parts = [torch.empty(n) for n in (2, 3)]
    world.reduce_scatter_tensor_coalesced(parts, whole).wait()
    assert [x.tolist() for x in parts] == [[size * rank] * n for n in (2, 3)]
    listed = [[torch.empty(2), torch.empty(3)] for _ in range(size)]
    world.allgather_coalesced(listed, own).wait()
    assert [x[1][0] for x in listed] == [0, 1, 2, 3]
    world.monitored_barrier(timedelta(seconds=30))
    assert world.get_group_store() is world._store
    world.set_timeout(timedelta(seconds=0.2))
    if rank:
        with pytest.raises(dist.DistBackendError, match=r"timed out after 0\.2 s"):
            world.barrier()
    else:
        time.sleep(3)


def test_groups_call_several_at_once(tmp_path):
    run_ranks(calls_several_at_once, 4, tmp_path)


def rank_makes_groups(rank, size):
    backwards = dist.new_group([2, 1, 0], sort_ranks=False)
    assert dist.get_rank(backwards) == (2 - rank if rank < 3 else -1)
    if rank < 3:
        x = torch.tensor(rank)
        dist.broadcast(x, group=backwards, group_src=0)
        assert x == 2
    part = dist.split_group(split_ranks=[[3, 1], [0, 2]])
    assert dist.get_process_group_ranks(part) == ([0, 2] if rank % 2 == 0 else [3, 1])
    total = torch.tensor(rank)
    dist.all_reduce(total, group=part)
    assert total == (2 if rank % 2 == 0 else 4)
    assert c10d._resolve_process_group(part.group_name) is part
    assert c10d._world.pg_group_ranks[part] == {
        r: k for k, r in enumerate(dist.get_process_group_ranks(part))
    }
    tensors = [torch.full((2,), float(rank)), torch.tensor([float(rank)])]
    dist._broadcast_coalesced(part, tensors, 1 << 20, 1)
    expected = dist.get_process_group_ranks(part)[1]
    assert [x[0] for x in tensors] == [expected, expected]
    with pytest.raises(RuntimeError, match="does not support device type cpu"):
        symmetric.rendezvous(tensors[0], part)
    symmetric.enable_symm_mem_for_group(part.group_name)
    if rank == 3:
        return  # it is excluded, and leaves
    smaller = dist.shrink_group([3])
    assert dist.group.WORLD is smaller and dist.get_world_size() == 3
    total = torch.tensor(1)
    dist.all_reduce(total)
    assert total == 3


def test_groups_are_made_from_groups(tmp_path):
    run_ranks(rank_makes_groups, 4, tmp_path)


def test_backends_answer():
    assert dist.is_backend_available("gloo") and not dist.is_backend_available("ucc")
    assert not dist.is_backend_available("none")
    assert dist.get_default_backend_for_device("cuda:1") == "nccl"
    assert dist.get_default_backend_for_device(torch.device("cpu")) == "gloo"
    with pytest.raises(ValueError, match="not registered for device"):
        dist.get_default_backend_for_device("meta")
    with pytest.raises(RuntimeError, match="Could not resolve the process group"):
        symmetric.enable_symm_mem_for_group("none")
    former = dist.get_debug_level()
    dist.set_debug_level(dist.DebugLevel.DETAIL)
    assert dist.get_debug_level() is dist.DebugLevel.DETAIL
    dist.set_debug_level(former)
