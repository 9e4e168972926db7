"""Tensors that a loop makes of Python lists, number by number."""

from __future__ import annotations

import re

import numpy as np

from pellucid.diagnose.edits import enclosing, is_loop, text_of
from pellucid.diagnose.findings import Finding, Replay
from pellucid.diagnose.verdict import Facts
from pellucid.profiler._timeline.log import Kind

_SHARE, _CALLS, _NUMBERS = 0.2, 10, 1000
_MAKES = r"\b(tensor|as_tensor|FloatTensor|LongTensor)\("


def find(facts: Facts) -> list[Finding]:
    """The line with the most numbers, in a loop that spends its time in Python."""
    columns = facts.log.columns
    is_call = columns.kind == Kind.CALL
    rows = columns.rows_of(Kind.MAKE)
    rows = rows[columns.nearest(columns.parent[rows], is_call) < 0]
    places, lines = facts.log.user_lines(rows)
    best: tuple[int, Finding] | None = None
    for number, line in enumerate(lines):
        own = rows[places == number]
        numbers = int(np.abs(columns.bytes[own]).sum()) // 4
        loops = enclosing(line.file, line.number, is_loop)
        is_made = re.search(_MAKES, text_of(line.file, line.number)) and loops
        if not is_made or len(own) < _CALLS or numbers < _NUMBERS:
            continue
        inside = facts.within(line.file, loops[-1])
        share = facts.share_of(inside.seconds.get("python", 0.0))
        if share < _SHARE or (best is not None and numbers <= best[0]):
            continue
        finding = Finding.at(
            line.file,
            line.number,
            kind="overhead",
            evidence=f"{share:.0%} of the time is Python in this loop, which makes "
            f"{len(own)} tensors here, {numbers} numbers, of lists",
            fix="keep one tensor, or array, of all: index it instead of making a "
            "tensor of a list",
            share=share,
            replay=_replay(max(numbers // len(own), 1)),
        )
        best = numbers, finding
    return [best[1]] if best else []


def _replay(count: int) -> Replay:
    return Replay(
        f"rows = [[0.5] * 16 for _ in range({max(count // 16, 1)})]\n"
        "table = torch.tensor(rows * 4)\n"
        "index = torch.randint(0, len(table), (len(rows),))",
        "torch.tensor([row for row in rows])",
        "table[index]",
    )
