"""Speed of Pellucid beside PyTorch: the same code, the same machine, one run.

One worker process per side runs in turn (A B A B ...); the best time of each case and
side counts, because shared machines only ever add time. Prints torch time / pellucid
time (above 1: Pellucid is faster) and the geometric mean of each group.

    python benchmarks/compare.py [--groups overhead,training] [--rounds 5] [--only RE]

``--record`` writes the best times to a section of ``results.json``, from which the
documents' tables are made (`tools/figures.py`): "compare", or the given name.
`cases.py` holds the cases. PyTorch may be installed in another environment:
`--torch-python`.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pathlib
import subprocess
import sys

import results

WORKER = pathlib.Path(__file__).with_name("worker.py")
LONGEST_SMALL_CALL = 1e-4  # seconds; the slowest takes some 5e-6


def main() -> None:
    options = parse_options()
    sides = {"torch": options.torch_python, "pellucid": sys.executable}
    best: dict[str, dict[str, float]] = {side: {} for side in sides}
    problems: set[str] = set()
    for _ in range(options.rounds):
        for side, python in sides.items():
            times, errors = run_worker(python, side, options)
            problems |= errors
            for case, seconds in times.items():
                best[side][case] = min(seconds, best[side].get(case, math.inf))
    report(best["torch"], best["pellucid"])
    for problem in sorted(problems):
        print(problem)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(best, indent=1))
    if options.record and not (artefacts := oversubscribed(best)):
        results.record(
            options.record,
            rounded(best),
            rounds=options.rounds,
            threads=options.threads,
            load=load(),
        )
    elif options.record:
        sys.exit(f"not recorded, the machine is too busy: {', '.join(artefacts)}")


def load() -> str:
    """What other processes wanted meanwhile, and whether they had to wait."""
    others = max(0.0, os.getloadavg()[1] - 1)  # one of them is this process
    shown = f"{others:.1f} processes on {os.cpu_count()} cores"
    is_ahead = os.sched_getscheduler(0) in (os.SCHED_FIFO, os.SCHED_RR)
    return f"{shown}, behind the measured ones (chrt -r 1)" if is_ahead else shown


def oversubscribed(best: dict[str, dict[str, float]]) -> list[str]:
    """Small calls whose best time is a quantum of the scheduler.

    With more threads than free cores, a thread that waits for its partner waits for the
    system to run it: 4 ms for a softmax of 4x4, on either side, whatever it costs.
    """
    return [
        f"{side}: {case} took {seconds * 1e3:.1f} ms"
        for side, times in best.items()
        for case, seconds in times.items()
        if case.startswith("overhead | ") and seconds > LONGEST_SMALL_CALL
    ]


def rounded(best: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """Times in seconds, of four digits."""
    return {
        side: {case: float(f"{seconds:.4g}") for case, seconds in sorted(times.items())}
        for side, times in best.items()
    }


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--groups", default="overhead,autograd,training")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="", help="regular expression on case names")
    parser.add_argument("--torch-python", default=sys.executable)
    parser.add_argument(
        "--record",
        nargs="?",
        const="compare",
        metavar="SECTION",
        help="write to this section of results.json, by default compare",
    )
    parser.add_argument("--json", help="also write every best time to this file")
    return parser.parse_args()


def run_worker(
    python: str, side: str, options: argparse.Namespace
) -> tuple[dict[str, float], set[str]]:
    arguments = [side, options.groups, str(options.threads), options.only]
    done = subprocess.run(
        [python, str(WORKER), *arguments], capture_output=True, text=True
    )
    if done.returncode:
        return {}, {f"{side}: {done.stderr.strip().splitlines()[-1]}"}
    times = json.loads(done.stdout.splitlines()[-1])
    return times, {line for line in done.stderr.splitlines() if line.startswith(side)}


def report(reference: dict[str, float], ours: dict[str, float]) -> None:
    ratios: dict[str, list[float]] = {}
    for case in sorted(reference.keys() & ours.keys()):
        ratio = reference[case] / ours[case]
        ratios.setdefault(case.split(" | ")[0], []).append(ratio)
        print(
            f"{ratio:8.2f}x  {case:44s} torch {reference[case] * 1e6:10.3f} us"
            f"  pellucid {ours[case] * 1e6:10.3f} us"
        )
    for group, values in ratios.items():
        mean = math.exp(sum(map(math.log, values)) / len(values))
        print(
            f"{group}: {mean:.2f}x over {len(values)} cases, worst {min(values):.2f}x"
        )
    for case in sorted(reference.keys() - ours.keys()):
        print(f"missing: {case}")


if __name__ == "__main__":
    main()
