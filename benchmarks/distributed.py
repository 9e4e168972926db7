"""Times collectives and a data-parallel step beside PyTorch's gloo, one side at a time.

    python benchmarks/distributed.py [--ranks 2] [--rounds 3]

Prints the least time of each case on each side, in microseconds, and the ratio. PyTorch
is needed; ranks use one thread each.
"""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

BYTES = (8, 1024, 65536, 1 << 20, 16 << 20)


def least(dist: Any, call: Callable[[], object], repeats: int) -> float:
    """The least mean of eight blocks of calls, in seconds."""
    best = float("inf")
    for _ in range(8):
        dist.barrier()
        start = time.perf_counter()
        for _ in range(repeats):
            call()
        best = min(best, (time.perf_counter() - start) / repeats)
    return best


def network(torch: Any) -> Any:
    """A small convolutional network."""
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 7 * 7, 256), nn.ReLU(), nn.Linear(256, 10),
    )  # fmt: skip


def step(torch: Any) -> Callable[[], object]:
    """A training step of the network under DistributedDataParallel."""
    parallel = importlib.import_module(f"{torch.__name__}.nn.parallel")
    model = parallel.DistributedDataParallel(network(torch))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = torch.randn(32, 1, 28, 28), torch.randint(0, 10, (32,))

    def run() -> None:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return run


def rank_times(side: str, rank: int, size: int, file: str, results: Any) -> None:
    """One rank's part; rank 0 puts the times."""
    torch: Any = importlib.import_module(side)
    dist: Any = importlib.import_module(f"{side}.distributed")
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"file://{file}", rank=rank, world_size=size
    )
    times = {}
    for nbytes in BYTES:
        tensor = torch.zeros(nbytes // 4)
        repeats = max(3, min(200, 4_000_000 // nbytes))
        name = f"all_reduce {nbytes} B"
        times[name] = least(dist, lambda t=tensor: dist.all_reduce(t), repeats)
    times["DistributedDataParallel step"] = least(dist, step(torch), 3)
    if rank == 0:
        results.put(times)
    dist.barrier()
    dist.destroy_process_group()


def measure(side: str, size: int) -> dict[str, float]:
    """The times of one side."""
    context = multiprocessing.get_context("spawn")
    results = context.SimpleQueue()
    file = f"{tempfile.mkdtemp()}/store"
    ranks = [
        context.Process(target=rank_times, args=(side, rank, size, file, results))
        for rank in range(size)
    ]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join()
    if any(process.exitcode for process in ranks):
        sys.exit(f"a rank of {side} has failed")
    return results.get()


def main() -> None:
    """Runs the sides in turn and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    best: dict[str, dict[str, float]] = {"pellucid": {}, "torch": {}}
    for _ in range(options.rounds):
        for side, known in best.items():
            for name, seconds in measure(side, options.ranks).items():
                known[name] = min(seconds, known.get(name, seconds))
    for name, own in best["pellucid"].items():
        other = best["torch"][name]
        ratio = f"{other / own:.2f}x"
        print(f"{name:30} {own * 1e6:10.1f} {other * 1e6:10.1f} us {ratio:>9}")


if __name__ == "__main__":
    main()
