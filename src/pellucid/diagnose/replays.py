"""The child process that replays lines: ``replays.py REPLAYS RESULT``.

Each entry's two expressions run in turn on the same tensors; the result has for each
(gain, low, high, once): by how many seconds more the first run of the better expression
exceeds the others, which a program pays once. It has null where an expression fails.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pellucid.diagnose.run_delay import Clock

_PAIRS, _SECONDS, _RUNS = 7, 0.5, 3


def main() -> None:
    """See the module."""
    texts, result = sys.argv[1:]
    replays = json.loads(Path(texts).read_text())
    Path(result).write_text(json.dumps([gain_of(**entry) for entry in replays]))


def gain_of(
    setup: str, plain: str, better: str
) -> tuple[float, float, float, float] | None:
    """How much faster the better expression is: the median of pairs, low, high; and
    what it needs once.
    """
    import pellucid as torch

    scope: dict[str, Any] = {"torch": torch, "F": torch.nn.functional}
    try:
        exec(setup, scope)
        sides = [eval(f"lambda: {text}", scope) for text in (plain, better)]
        first = [_seconds(side) for side in sides]
        once = [
            max(s - _least(side), 0.0) for s, side in zip(first, sides, strict=True)
        ]
        return *_ratio(*sides), max(once[1] - once[0], 0.0)
    except (RuntimeError, TypeError, ValueError, SyntaxError):
        return None


def _ratio(
    plain: Callable[[], Any], better: Callable[[], Any]
) -> tuple[float, float, float]:
    end = time.perf_counter() + _SECONDS
    ratios: list[float] = []
    while len(ratios) < _PAIRS and (len(ratios) < 3 or time.perf_counter() < end):
        ratios.append(_least(plain) / _least(better))
    ratios.sort()
    cut = len(ratios) // 5
    return ratios[len(ratios) // 2], ratios[cut], ratios[len(ratios) - 1 - cut]


def _least(work: Callable[[], Any]) -> float:
    """Seconds of the fastest of a few runs, without those in which other programs had
    the core.
    """
    return max(min(_seconds(work) for _ in range(_RUNS)), 1e-7)


def _seconds(work: Callable[[], Any]) -> float:
    clock = Clock()
    work()
    wall, without_core, _ = clock.read()
    return wall - without_core


if __name__ == "__main__":
    main()
