"""A window of the latest rows that moves by a copy of all of it: a queue, a history."""

from __future__ import annotations

import ast

from pellucid.diagnose.edits import is_repeated, statement_at
from pellucid.diagnose.findings import Finding, Replay
from pellucid.diagnose.recording import Computation
from pellucid.diagnose.verdict import Facts

_SHARE, _CALLS, _LARGER = 0.1, 5, 4
_JOINS = ("cat", "concat", "vstack", "hstack")


def find(facts: Facts) -> list[Finding]:
    """Assignments that join what they assign to with a few new rows, where the copies
    stay of one size (``cat_in_loop.py`` has those that grow).
    """
    findings = []
    for (file, number), entry in facts.lines.items():
        share = facts.share_of(entry.seconds.get("copy", 0.0))
        statement = statement_at(file, number)
        if share < _SHARE or not isinstance(statement, ast.Assign):
            continue
        if not is_repeated(file, number) or not _reads_itself(statement):
            continue
        for item in entry.items:
            sizes = _sizes(item)
            if item.calls < _CALLS or len(sizes) != 2:
                continue
            if sizes[1] < _LARGER * sizes[0]:
                continue
            findings.append(
                Finding.at(
                    file,
                    number,
                    kind="copy",
                    evidence=f"{share:.0%} of the time: {item.calls} copies of "
                    f"{sizes[1]} elements, for {sizes[0]} new ones each",
                    fix="keep a buffer and the place of the oldest rows, and write the "
                    "new ones there",
                    share=share,
                    replay=_replay(*sizes),
                    is_certain=True,
                )
            )
            break
    return findings


def _reads_itself(statement: ast.Assign) -> bool:
    target = ast.unparse(statement.targets[0])
    calls = [n for n in ast.walk(statement.value) if isinstance(n, ast.Call)]
    return any(
        ast.unparse(call.func).rpartition(".")[2] in _JOINS
        and any(
            ast.unparse(part) == target
            for part in ast.walk(call)
            if isinstance(part, ast.expr)
        )
        for call in calls
    )


def _sizes(item: Computation) -> list[int]:
    """The elements of the two joined tensors, the smaller first."""
    tensors = item.arguments[0] if item.arguments else None
    if item.name not in _JOINS or not isinstance(tensors, list):
        return []
    sizes = []
    for tensor in tensors:
        elements = 1
        for size in tensor.shape if tensor is not None else (0,):
            elements *= size
        sizes.append(elements)
    return sorted(sizes)


def _replay(few: int, many: int) -> Replay:
    setup = f"few, many = torch.randn({few}), torch.randn({many})"
    return Replay(
        setup, "torch.cat([few, many])[:len(many)]", "many[:len(few)].copy_(few)"
    )
