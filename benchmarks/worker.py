"""Times every case of the given groups on one side and prints the times as JSON.

`compare.py` starts it: worker.py SIDE GROUPS THREADS ONLY.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
import time
import warnings
from collections.abc import Callable

REPEATS = 7
SECONDS_PER_REPEAT = 0.03


Clock = Callable[[], float]


def best_time(function: Callable[[], object], clock: Clock) -> float:
    """Least seconds per call over several repeats, after a warm-up."""
    start = clock()
    function()
    for _ in range(3):
        function()
    once = max((clock() - start) / 4, 1e-8)
    count = max(1, min(20_000, int(SECONDS_PER_REPEAT / once)))
    best = float("inf")
    for _ in range(REPEATS):
        start = clock()
        for _ in range(count):
            function()
        best = min(best, (clock() - start) / count)
    return best


def main() -> None:
    side, groups, threads, only = sys.argv[1:]
    warnings.simplefilter("ignore")
    start = time.perf_counter()
    torch = importlib.import_module(side)
    times = {"startup | import": time.perf_counter() - start}
    torch.set_num_threads(int(threads))
    # The time of one thread does not contain that of other processes.
    clock = time.thread_time if threads == "1" else time.perf_counter
    torch.manual_seed(0)

    from cases import GROUPS, MEASURED

    for group in groups.split(","):
        if group in MEASURED:
            measured = MEASURED[group](side, only)
            times |= {f"{group} | {name}": value for name, value in measured.items()}
            continue
        for name, make in GROUPS[group](torch).items():
            if not re.search(only, name):
                continue
            try:
                times[f"{group} | {name}"] = best_time(make(), clock)
            except Exception as error:
                first_line = (str(error).splitlines() or [""])[0]
                print(
                    f"{side}: {name}: {type(error).__name__}: {first_line}",
                    file=sys.stderr,
                )
    print(json.dumps(times))


if __name__ == "__main__":
    main()
