#!/usr/bin/env python3
"""Checks the backend "nccl" on this machine's GPUs, a rank on each.

    python tools/check_nccl.py [--ranks N]

Every collective, in every dtype and with every reduction that NCCL has, is compared
with the same call of the CPU's backend; a data-parallel step with one process. Then an
all_reduce of 64 MiB is timed. The exit status is 1 where something is wrong. NCCL
refuses two ranks on one GPU, so one GPU is checked by a group of one.
``compared`` is what the tests run on a device in host memory.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

import pellucid as torch  # noqa: E402
from pellucid import distributed as dist  # noqa: E402
from pellucid import nn  # noqa: E402

Place = Callable[[Any], Any]  # moves a tensor to the device of a group
Case = Callable[[Any, Place], list[Any]]  # (group, place) -> results of this rank

INTEGERS = (torch.int8, torch.uint8, torch.int32, torch.int64)
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
REDUCTIONS = {
    "sum": dist.ReduceOp.SUM,
    "product": dist.ReduceOp.PRODUCT,
    "min": dist.ReduceOp.MIN,
    "max": dist.ReduceOp.MAX,
}


def operand(rank: int, dtype: Any, count: int) -> Any:
    """Small numbers, whose sums are exact in every dtype."""
    numbers = (torch.arange(count) * (rank + 3)) % 5 + 1
    return (numbers % 2 == 0) if dtype is torch.bool else numbers.to(dtype)


def _reductions(rank: int) -> Iterator[tuple[str, Case]]:
    kinds = [(n, op, d) for n, op in REDUCTIONS.items() for d in (*INTEGERS, *FLOATS)]
    kinds += [("mean", dist.ReduceOp.AVG, d) for d in FLOATS]
    kinds.append(("or", dist.ReduceOp.SUM, torch.bool))
    for name, op, dtype in kinds:

        def reduce(group: Any, place: Place, op: Any = op, dtype: Any = dtype) -> Any:
            x = place(operand(rank, dtype, 1001))
            dist.all_reduce(x, op, group)
            return [x]

        yield f"all_reduce {name} of {dtype}", reduce

    def scaled(group: Any, place: Place) -> list[Any]:
        x = place(torch.ones(5))
        dist.all_reduce(x, dist._make_nccl_premul_sum(rank + 1.0), group)
        return [x]

    yield "all_reduce premul_sum", scaled


def _moves(rank: int, size: int) -> Iterator[tuple[str, Case]]:
    own = operand(rank, torch.float32, 4 * size)

    def broadcast(group: Any, place: Place) -> list[Any]:
        x = place(own)
        dist.broadcast(x, size - 1, group)
        return [x]

    def reduce(group: Any, place: Place) -> list[Any]:
        x = place(own)
        dist.reduce(x, 0, group=group)
        return [x] if rank == 0 else []

    def all_gather(group: Any, place: Place) -> list[Any]:
        whole = place(torch.zeros(size * len(own)))
        dist.all_gather_into_tensor(whole, place(own), group)
        parts = [place(torch.zeros(len(own))) for _ in range(size)]
        dist.all_gather(parts, place(own), group)
        return [whole, *parts]

    def reduce_scatter(group: Any, place: Place) -> list[Any]:
        part = place(torch.zeros(4))
        dist.reduce_scatter_tensor(part, place(own), dist.ReduceOp.AVG, group)
        return [part]

    def all_to_all(group: Any, place: Place) -> list[Any]:
        found = place(torch.zeros(4 * size))
        dist.all_to_all_single(found, place(own), group=group)
        return [found]

    def gather_and_scatter(group: Any, place: Place) -> list[Any]:
        listed = [place(torch.zeros(len(own))) for _ in range(size)]
        dist.gather(place(own), listed if rank == 0 else None, 0, group)
        part = place(torch.zeros(len(own)))
        dist.scatter(part, listed if rank == 0 else None, 0, group)
        return [part]

    def ring(group: Any, place: Place) -> list[Any]:
        found = place(torch.zeros(len(own)))
        after, before = (rank + 1) % size, (rank - 1) % size
        messages = [
            dist.P2POp(dist.isend, place(own), after, group),
            dist.P2POp(dist.irecv, found, before, group),
        ]
        for work in dist.batch_isend_irecv(messages) if size > 1 else ():
            work.wait()
        return [found]

    yield from {
        "broadcast": broadcast,
        "reduce": reduce,
        "all_gather": all_gather,
        "reduce_scatter": reduce_scatter,
        "all_to_all": all_to_all,
        "gather and scatter": gather_and_scatter,
        "send and recv": ring,
    }.items()


def compared(
    group: Any, device: Any, reference: Any
) -> Iterator[tuple[str, str | None]]:
    """Every case's name, and what is wrong with it or None: the results of ``group``,
    whose tensors are on ``device``, beside those of ``reference`` on the CPU.
    """
    rank, size = dist.get_rank(reference), dist.get_world_size(reference)
    for name, case in (*_reductions(rank), *_moves(rank, size)):
        actual = case(group, lambda x: x.to(device))
        expected = case(reference, lambda x: x.clone())
        wrong = next(
            (
                f"{a.cpu()} instead of {b}"
                for a, b in zip(actual, expected, strict=True)
                if a.device.type != torch.device(device).type
                or not torch.equal(a.cpu(), b)
            ),
            None,
        )
        yield name, wrong


def trained(rank: int, size: int, device: Any, group: Any = None) -> str | None:
    """What is wrong with the gradients of a data-parallel step on the device."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 8)).to(device)
    x = torch.randn(8 * size, 64).to(device)
    (model(x).square().mean()).backward()
    expected = [p.grad.cpu() for p in model.parameters() if p.grad is not None]
    model.zero_grad()
    parallel = nn.parallel.DistributedDataParallel(
        model, device_ids=[device.index], process_group=group
    )
    parallel(x[8 * rank : 8 * rank + 8].cpu()).square().mean().backward()
    for parameter, gradient in zip(model.parameters(), expected, strict=True):
        assert parameter.grad is not None
        if not torch.allclose(parameter.grad.cpu(), gradient, rtol=1e-3, atol=1e-5):
            return f"a gradient of {tuple(gradient.shape)} differs from one process's"
    return None


def bandwidth(device: Any, size: int) -> float:
    """Bytes per second of an all_reduce of 64 MiB, as NCCL's tests count them."""
    x, best = torch.ones(16 << 20, device=device), float("inf")
    for _ in range(20):
        dist.barrier()
        torch.cuda.synchronize()
        start = time.perf_counter()
        dist.all_reduce(x)
        torch.cuda.synchronize()
        best = min(best, time.perf_counter() - start)
    return x.nbytes * 2 * (size - 1) / size / best


def run_rank(rank: int, size: int, port: int) -> None:
    """One rank's checks; the exit status is 1 if one failed."""
    torch.cuda.set_device(rank)
    device = torch.device("cuda", rank)
    address = f"tcp://127.0.0.1:{port}"
    dist.init_process_group("nccl", address, rank=rank, world_size=size)
    reference = dist.new_group(backend="gloo")
    failed = 0
    for name, wrong in compared(dist.group.WORLD, device, reference):
        failed += wrong is not None
        if rank == 0 or wrong:
            print(f"rank {rank}: {name}: {wrong or 'ok'}", flush=True)
    wrong = trained(rank, size, device)
    failed += wrong is not None
    speed = bandwidth(device, size) if size > 1 else 0.0
    if rank == 0 or wrong:
        print(f"rank {rank}: data-parallel step: {wrong or 'ok'}", flush=True)
        print(f"all_reduce of 64 MiB: {speed / 1e9:.1f} GB/s on {size} GPUs")
    dist.destroy_process_group()
    if failed:
        raise SystemExit(1)


def main() -> int:
    """Starts a rank on each GPU."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--ranks", type=int, default=torch.cuda.device_count())
    size = parser.parse_args().ranks
    if not 0 < size <= torch.cuda.device_count():
        print(f"{torch.cuda.device_count()} GPUs for {size} ranks: nothing was checked")
        return 1
    from pellucid.distributed.elastic.utils.distributed import get_free_port
    from pellucid.multiprocessing import ProcessExitedException, spawn

    try:
        spawn(run_rank, (size, get_free_port()), size)
    except ProcessExitedException:
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
