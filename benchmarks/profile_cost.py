"""The overhead of recording: `a + b` and a step of a small network, off and on.

    python benchmarks/profile_cost.py [--torch]

The minimum of many interleaved rounds; ``--torch`` adds PyTorch's profiler, if
installed.
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable
from typing import Any

OPTIONS: dict[str, dict[str, bool] | None] = {
    "off": None,
    "on": {},
    "with memory": {"profile_memory": True},
    "stacks, memory": {"with_stack": True, "profile_memory": True},
    "shapes too": {"with_stack": True, "profile_memory": True, "record_shapes": True},
}


def per_round(work: Callable[[], object], count: int) -> float:
    """Nanoseconds of one call."""
    begin = time.perf_counter_ns()
    for _ in range(count):
        work()
    return (time.perf_counter_ns() - begin) / count


def programs(torch: Any) -> dict[str, tuple[Callable[[], object], int]]:
    """By name: what to run, and how often in a round."""
    nn = torch.nn
    a, b, x = torch.ones(4), torch.ones(4), torch.randn(8, 8)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step() -> None:
        model(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    return {"a + b": (lambda: a + b, 3000), "step": (step, 100)}


def measure(torch: Any, rounds: int) -> None:
    """Print a row for each program and option."""
    for name, (work, count) in programs(torch).items():
        per_round(work, count)
        best = dict.fromkeys(OPTIONS, float("inf"))
        for _ in range(rounds):
            for option, arguments in OPTIONS.items():
                if arguments is None:
                    best[option] = min(best[option], per_round(work, count))
                    continue
                with torch.profiler.profile(**arguments):
                    best[option] = min(best[option], per_round(work, count))
        for option, value in best.items():
            ratio = value / best["off"]
            more = value - best["off"]
            print(f"{name:8} {option:16} {value:10.1f} ns  +{more:9.1f}  {ratio:6.2f}x")


def main() -> None:
    """Measure Pellucid, and PyTorch if requested."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--torch", action="store_true", help="PyTorch as well")
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    for name in ("pellucid", *(["torch"] if options.torch else [])):
        module = importlib.import_module(name)
        importlib.import_module(f"{name}.profiler")
        module.set_num_threads(1)
        print(name)
        measure(module, options.rounds if name == "pellucid" else 3)


if __name__ == "__main__":
    main()
