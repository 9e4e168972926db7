"""The group "distributed": collectives, training and RPC of 2 and 4 processes.

``worker.py`` calls ``measured(side, only)``: both sides run the same calls, PyTorch
over gloo, with one thread per rank. Rank 0 reports the times.
"""

from __future__ import annotations

import importlib
import multiprocessing
import re
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from networks import networks

KIB, MIB = 1 << 10, 1 << 20
SIZES = {"8 B": 8, "1 KiB": KIB, "64 KiB": 64 * KIB, "16 MiB": 16 * MIB}
BLOCKS = 8
NETWORKS = {"CNN": "cnn 28x28, batch 64", "GPT": "gpt width 128, 128 tokens, batch 8"}
Calls = dict[str, Callable[[], Callable[[], object]]]


def measured(side: str, only: str) -> dict[str, float]:
    """Seconds of the cases whose names match, by name."""
    times: dict[str, float] = {}
    for size in (2, 4):
        times |= _run(_rank_times, side, size, only)
    return times | _run(_worker_times, side, 2, only)


def _run(target: Any, side: str, size: int, only: str) -> dict[str, float]:
    context = multiprocessing.get_context("spawn")
    results = context.SimpleQueue()
    with tempfile.TemporaryDirectory() as folder:
        file = f"file://{folder}/store"
        ranks = [
            context.Process(target=target, args=(side, rank, size, file, only, results))
            for rank in range(size)
        ]
        for process in ranks:
            process.start()
        for process in ranks:
            process.join()
    if any(process.exitcode for process in ranks):
        sys.exit(f"a rank of {side} has failed")
    times: dict[str, float] = results.get()
    return times


def _best(call: Callable[[], object], meet: Callable[[], object]) -> float:
    """The least mean of several blocks of calls. ``meet(seconds)`` waits for all ranks
    and returns the number of calls per block for calls of this duration.
    """
    start = time.perf_counter()
    for _ in range(3):
        call()
    count = meet((time.perf_counter() - start) / 3)
    best = float("inf")
    for _ in range(BLOCKS):
        meet(0.0)
        start = time.perf_counter()
        for _ in range(count):
            call()
        best = min(best, (time.perf_counter() - start) / count)
    return best


def _imported(side: str) -> tuple[Any, Any]:
    torch: Any = importlib.import_module(side)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    return torch, importlib.import_module(f"{side}.distributed")


# Collectives, data-parallel training, DTensors


def _rank_times(
    side: str, rank: int, size: int, file: str, only: str, results: Any
) -> None:
    torch, dist = _imported(side)
    dist.init_process_group("gloo", init_method=file, rank=rank, world_size=size)

    def meet(seconds: float) -> int:
        slowest = torch.tensor([seconds])
        dist.all_reduce(slowest, dist.ReduceOp.MAX)
        return max(3, min(500, int(0.05 / max(float(slowest), 1e-7))))

    times = {}
    for name, make in _calls(side, torch, dist, size).items():
        if re.search(only, name):
            times[name] = _best(make(), meet)
    if rank == 0:
        results.put(times)
    dist.barrier()
    dist.destroy_process_group()


def _calls(side: str, torch: Any, dist: Any, size: int) -> Calls:
    def reduces(tensor: Any) -> Callable[[], object]:
        return lambda: dist.all_reduce(tensor)

    calls: Calls = {
        f"{size} ranks: all_reduce {name}": (
            lambda n=nbytes: reduces(torch.zeros(n // 4))
        )
        for name, nbytes in SIZES.items()
    }
    name = f"{size} ranks: all_reduce 64 MiB, gradients' bucket"
    calls[name] = lambda: reduces(_bucket(torch, dist, 16 * MIB))
    parallel = importlib.import_module(f"{side}.nn.parallel")
    models = networks(torch, wrap=parallel.DistributedDataParallel)
    for short, model in NETWORKS.items():
        calls[f"{size} ranks: DDP step, {short}"] = lambda m=model: models[m]()[0]
    calls[f"{size} ranks: DTensor + DTensor"] = lambda: _addition(side, torch, size)
    return calls


def _bucket(torch: Any, dist: Any, count: int) -> Any:
    """The memory in which DistributedDataParallel reduces so many float32 gradients."""
    allocate = getattr(dist.group.WORLD, "allocate_shared", None)
    return torch.zeros(count) if allocate is None else allocate(4 * count).view(
        torch.float32
    )  # fmt: skip


def _addition(side: str, torch: Any, size: int) -> Callable[[], object]:
    meshes = importlib.import_module(f"{side}.distributed.device_mesh")
    tensors = importlib.import_module(f"{side}.distributed.tensor")
    mesh = meshes.init_device_mesh("cpu", (size,))
    x = tensors.distribute_tensor(torch.randn(4, 4), mesh, [tensors.Shard(0)])
    return lambda: x + x


# RPC


def echo(x: Any) -> Any:
    """The function that the callee runs."""
    return x


def _worker_times(
    side: str, rank: int, size: int, file: str, only: str, results: Any
) -> None:
    torch, _ = _imported(side)
    rpc = importlib.import_module(f"{side}.distributed.rpc")
    options = rpc.TensorPipeRpcBackendOptions(init_method=file)
    rpc.init_rpc(
        f"worker{rank}", rank=rank, world_size=size, rpc_backend_options=options
    )
    if rank == 0:
        times = {}
        for name, nbytes in (("8 B", 8), ("16 MiB", 16 * MIB)):
            case = f"{size} ranks: rpc_sync {name}"
            if re.search(only, case):
                x = torch.zeros(nbytes // 4)
                times[case] = _best(
                    lambda x=x: rpc.rpc_sync("worker1", echo, args=(x,)), _count
                )
        results.put(times)
    rpc.shutdown()


def _count(seconds: float) -> int:
    return max(3, min(500, int(0.05 / max(seconds, 1e-7))))
