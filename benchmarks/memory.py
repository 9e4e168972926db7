"""Peak memory of training steps beside PyTorch, one process per network and side.

    python benchmarks/memory.py [--threads 2] [--torch-python PYTHON] [--record]

Each process loads code and library state with a step on a single example. Then it
rebuilds the network, trains two steps, resets the kernel's mark of the highest
resident size (`/proc/self/clear_refs`), trains three more and prints how far that mark,
without pages of files (code), is above the anonymous memory after building the
network. Parameters and data are not counted; what a step allocates (gradients,
optimizer state, activations, scratch) is. Sizes are pages: at least one is counted.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import pathlib
import subprocess
import sys

import results
from networks import networks

PAGE = 4096


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--torch-python", default=sys.executable)
    parser.add_argument("--record", action="store_true", help="in results.json")
    parser.add_argument("--measure", nargs=2, metavar=("SIDE", "NETWORK"))
    options = parser.parse_args()
    if options.measure:
        print(measure(*options.measure, options.threads))
        return
    sides = {"torch": options.torch_python, "pellucid": sys.executable}
    bytes_by_side: dict[str, dict[str, int]] = {side: {} for side in sides}
    for name in networks(importlib.import_module("pellucid")):
        peaks = {
            side: child(python, side, name, options.threads)
            for side, python in sides.items()
        }
        for side, peak in peaks.items():
            bytes_by_side[side][name] = peak
        ratio = peaks["torch"] / peaks["pellucid"]
        print(
            f"{ratio:6.2f}x  {name:36s} torch {peaks['torch'] / 2**20:8.1f} MiB"
            f"  pellucid {peaks['pellucid'] / 2**20:8.1f} MiB"
        )
    if options.record:
        results.record("memory", bytes_by_side, threads=options.threads)


def child(python: str, side: str, name: str, threads: int) -> int:
    """The least of three processes: page cache and lazy loading only ever add."""
    command = [python, __file__, "--threads", str(threads), "--measure", side, name]
    return min(int(subprocess.check_output(command).split()[-1]) for _ in range(3))


def measure(side: str, name: str, threads: int) -> int:
    torch = importlib.import_module(side)
    torch.set_num_threads(threads)
    networks(torch, single=True)[name]()[0]()
    gc.collect()
    train, _ = networks(torch)[name]()
    built = resident("RssAnon")
    train()
    train()
    pathlib.Path("/proc/self/clear_refs").write_text("5")
    for _ in range(3):
        train()
    return max(resident("VmHWM") - resident("RssFile") - built, PAGE)


def resident(field: str) -> int:
    """Bytes of a field of `/proc/self/status`."""
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {field}")


if __name__ == "__main__":
    main()
