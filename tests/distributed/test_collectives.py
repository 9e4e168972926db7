"""Collectives over shared memory and over sockets, with the same results."""

import pytest

import pellucid as torch
from pellucid import distributed as dist
from tests.distributed.ranks import run_ranks

DTYPES = (
    *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
    *(torch.complex64, torch.complex128),
)
OPS = dist.ReduceOp


def tree(values, join):
    """The reduction tree of the ranks: halves of powers of two."""
    if len(values) == 1:
        return values[0]
    half = 1
    while 2 * half < len(values):
        half *= 2
    return join(tree(values[:half], join), tree(values[half:], join))


def operand(rank, dtype, count):
    generator = torch.Generator().manual_seed(100 + rank)
    values = torch.randn(count, generator=generator)
    return (values * 3).to(dtype)


def rank_reduces(rank, size):
    for dtype in DTYPES:
        wide = torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype
        operands = [operand(r, dtype, 1001).to(wide) for r in range(size)]
        joins = {OPS.SUM: torch.add, OPS.PRODUCT: torch.mul}
        if not dtype.is_complex:
            joins |= {OPS.MIN: torch.minimum, OPS.MAX: torch.maximum}
        if not dtype.is_complex and not dtype.is_floating_point:
            joins |= {OPS.BAND: torch.bitwise_and, OPS.BXOR: torch.bitwise_xor}
        for op, join in joins.items():
            actual = operand(rank, dtype, 1001)
            dist.all_reduce(actual, op)
            assert torch.equal(actual, tree(operands, join).to(dtype)), (dtype, op)
    mean = torch.full((3,), float(rank))
    dist.all_reduce(mean, OPS.AVG)
    assert mean.tolist() == [(size - 1) / 2] * 3
    scaled = torch.ones(2)
    dist.all_reduce(scaled, dist._make_nccl_premul_sum(rank + 1))
    assert scaled.tolist() == [size * (size + 1) / 2] * 2
    with pytest.raises(RuntimeError, match="BAND is not defined"):
        dist.all_reduce(torch.ones(2), OPS.BAND)
    with pytest.raises(ValueError, match="contiguous"):
        dist.all_reduce(torch.ones(2, 3).T)
    with pytest.raises(RuntimeError, match=r"of the group's \d ranks .* list has 9"):
        dist.all_gather([torch.ones(1)] * 9, torch.ones(1))
    with pytest.raises(RuntimeError, match=r"sizes differ: \[2\] and \[1\]"):
        dist.all_gather([torch.ones(2)] * size, torch.ones(1))
    with pytest.raises(RuntimeError, match="the larger tensor has 1 elements"):
        dist.all_gather_into_tensor(torch.ones(1), torch.ones(9))


def rank_sends_pending_numbers(rank, size):
    stored = torch.tensor([1 + 2j, 3 - 1j, 2 - 5j, 7 + 4j])
    for view in (torch.conj, lambda x: x.conj().imag):
        value = view(stored * (rank + 1))
        every = [view(stored * (r + 1)).clone() for r in range(size)]
        whole = torch.cat(every) * 0
        dist.all_gather_into_tensor(whole, value)
        assert torch.equal(whole, torch.cat(every))
        listed = [torch.empty_like(every[0]) for _ in range(size)]
        dist.all_gather(listed, value)
        assert torch.equal(torch.cat(listed), whole)
        gathered = listed if rank == 0 else None
        dist.gather(value, gathered)
        part = every[0][: 4 // size] * 0
        dist.reduce_scatter_tensor(part, value)
        assert torch.equal(part, sum(every).chunk(size)[rank])
        swapped = torch.empty_like(every[0])
        dist.all_to_all_single(swapped, value)
        assert torch.equal(swapped, torch.cat([x.chunk(size)[rank] for x in every]))
        received = torch.empty_like(every[0])
        if rank == 0:
            dist.send(value, 1)
        if rank == 1:
            dist.recv(received, 0)
            assert torch.equal(received, every[0])
        for written in (dist.all_reduce, lambda x: dist.broadcast(x, 0)):
            with pytest.raises(RuntimeError, match=r"pending .* resolve_conj\(\)"):
                written(value)
        with pytest.raises(RuntimeError, match="pending"):
            dist.all_gather_into_tensor(torch.cat([value] * size)._neg_view(), value)
    dist.barrier()


def rank_sums_have_the_same_bits_at_every_size(rank, size):
    whole = [operand(r, torch.float32, 700_001) for r in range(size)]
    expected = tree(whole, torch.add)
    for start, count in ((0, 700_001), (3, 5), (1000, 40_000)):
        actual = whole[rank][start : start + count].clone()
        dist.all_reduce(actual)
        assert torch.equal(actual, expected[start : start + count])
    part = torch.empty(100)
    listed = list(whole[rank][: 100 * size].split(100))
    dist.reduce_scatter(part, listed)
    assert torch.equal(part, expected[100 * rank : 100 * rank + 100])
    root = whole[rank].clone()
    dist.reduce(root, size - 1)
    assert rank < size - 1 or torch.equal(root, expected)


def rank_moves(rank, size):
    ranks = list(range(size))
    gathered = [torch.empty(2, 2) for _ in ranks]
    dist.all_gather(gathered, torch.full((2, 2), float(rank)))
    assert [int(tensor[1, 1]) for tensor in gathered] == ranks
    whole = torch.empty(size * 300_000)
    dist.all_gather_into_tensor(whole, torch.full((300_000,), float(rank)))
    assert whole.view(size, -1)[:, -1].tolist() == ranks
    same = torch.arange(5) if rank == 1 else torch.empty(5, dtype=torch.int64)
    dist.broadcast(same, src=1)
    assert same.tolist() == [0, 1, 2, 3, 4]
    listed = [torch.empty(1) for _ in ranks] if rank == 0 else None
    dist.gather(torch.tensor([float(rank)]), listed, dst=0)
    assert listed is None or [int(tensor) for tensor in listed] == ranks
    own = torch.empty(3)
    rows = [torch.full((3,), 10.0 * r) for r in ranks] if rank == 0 else None
    dist.scatter(own, rows, src=0)
    assert own.tolist() == [10.0 * rank] * 3
    out = torch.empty(size, dtype=torch.int32)
    dist.all_to_all_single(out, torch.arange(size, dtype=torch.int32) + 10 * rank)
    assert out.tolist() == [10 * r + rank for r in ranks]
    uneven = [torch.empty(rank + 1) for _ in ranks]
    dist.all_to_all(uneven, [torch.full((r + 1,), float(rank)) for r in ranks])
    assert [int(tensor[-1]) for tensor in uneven] == ranks


def rank_calls_asynchronously(rank, size):
    tensors = [torch.full((50,), float(i + rank)) for i in range(20)]
    works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
    futures = [work.get_future().then(lambda f: f.value()[0].sum()) for work in works]
    dist.barrier()
    ranks = sum(range(size))
    for i, (work, future) in enumerate(zip(works, futures, strict=True)):
        assert work.wait() and work.is_success()
        assert float(future.wait()) == 50 * (size * i + ranks)
    with dist._coalescing_manager(async_ops=True) as manager:
        first, second = torch.ones(2), torch.ones(3)
        dist.all_reduce(first)
        dist.all_reduce(second)
    manager.wait()
    assert first[0] == second[0] == size


def rank_sends_objects_and_messages(rank, size):
    after, before = (rank + 1) % size, (rank - 1) % size
    received = torch.empty(100_000)
    operations = [
        dist.P2POp(dist.isend, torch.full((100_000,), float(rank)), after),
        dist.P2POp(dist.irecv, received, before),
    ]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    assert received[0] == received[-1] == before
    if rank == 0:
        dist.send(torch.tensor([1]), 1, tag=1)
        dist.send(torch.tensor([2]), 1, tag=2)
        dist.send_object_list([{"a": 1}, "text"], 1)
    elif rank == 1:
        first, second, objects = torch.empty(1).long(), torch.zeros(1).long(), [0, 0]
        dist.recv(second, 0, tag=2)
        assert dist.recv(first, tag=1) == 0
        dist.recv_object_list(objects, 0)
        assert (int(first), int(second), objects) == (1, 2, [{"a": 1}, "text"])
    every = [None] * size
    dist.all_gather_object(every, {"rank": rank})
    assert every == [{"rank": r} for r in range(size)]
    shared = ["x", {1, 2}] if rank == 0 else [None, None]
    dist.broadcast_object_list(shared, src=0)
    assert shared == ["x", {1, 2}]
    own = [None]
    dist.scatter_object_list(own, [f"for {r}" for r in range(size)], src=0)
    assert own == [f"for {rank}"]
    listed = [None] * size if rank == 0 else None
    dist.gather_object(rank, listed, dst=0)
    assert listed is None or listed == list(range(size))


def rank_forms_groups(rank, size):
    pair = dist.new_group([1, size - 1]) if size > 2 else dist.new_group([0, 1])
    total = torch.ones(1)
    if pair is not dist.GroupMember.NON_GROUP_MEMBER:
        dist.all_reduce(total, group=pair)
        assert int(total) == 2 and dist.get_world_size(pair) == 2
        assert dist.get_global_rank(pair, dist.get_rank(pair)) == rank
    else:
        with pytest.warns(UserWarning, match="does not belong"):
            dist.all_reduce(total, group=pair)
    own, every = dist.new_subgroups(group_size=size // 2)
    assert len(every) == 2 and dist.get_process_group_ranks(own)[0] % (size // 2) == 0
    half = dist.split_group(None, [[0, 1], list(range(2, size))] if size > 2 else [[0]])
    if half is not None:
        ranks = dist.get_process_group_ranks(half)
        numbers = torch.tensor([float(rank)])
        dist.all_reduce(numbers, group=half)
        assert float(numbers) == sum(ranks)


def rank_all(rank, size):
    rank_reduces(rank, size)
    rank_sums_have_the_same_bits_at_every_size(rank, size)
    rank_moves(rank, size)
    rank_sends_pending_numbers(rank, size)
    rank_calls_asynchronously(rank, size)
    rank_sends_objects_and_messages(rank, size)
    rank_forms_groups(rank, size)


@pytest.mark.parametrize("size", [2, 4])
def test_collectives(size, transport, tmp_path):
    run_ranks(rank_all, size, tmp_path, PELLUCID_DISTRIBUTED_TRANSPORT=transport)


def test_a_group_of_one():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        value = torch.tensor([2.0])
        dist.all_reduce(value)
        dist.barrier()
        assert float(value) == 2 and dist.get_world_size() == 1
        with pytest.raises(ValueError, match="twice"):
            dist.init_process_group("gloo")
    finally:
        dist.destroy_process_group()
    assert not dist.is_initialized()


class Counting(dist.ProcessGroup):
    """A custom backend."""

    calls = 0

    def allreduce(self, tensors, opts=None):
        Counting.calls += 1
        return dist.Work()


def test_a_registered_backend_is_used():
    register = dist.Backend.register_backend
    register("counting", lambda *_: None)  # the next one replaces it
    register(
        "counting",
        lambda store, rank, size, timeout: Counting(rank, size),
        devices=["cpu"],
    )
    assert dist.Backend.COUNTING == "counting"
    assert dist.Backend.backend_list.count("counting") == 1
    assert dist.Backend.default_device_backend_map["cpu"] == "gloo"
    with pytest.raises(RuntimeError, match="'gloo' is a backend of Pellucid"):
        register("gloo", lambda *_: None)
    dist.init_process_group("counting", store=dist.HashStore(), rank=0, world_size=1)
    try:
        dist.all_reduce(torch.ones(1))
        assert Counting.calls == 1 and dist.get_backend() == "counting"
        with pytest.raises(RuntimeError, match="does not support barrier"):
            dist.barrier()
    finally:
        dist.destroy_process_group()
