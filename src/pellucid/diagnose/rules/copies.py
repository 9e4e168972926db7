"""Copies that a loop makes again and again."""

from __future__ import annotations

from pellucid.diagnose.edits import enclosing, is_loop, replaced
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.recording import Computation
from pellucid.diagnose.verdict import Facts

_PATTERN = r"\.(clone|contiguous)\(\)"


def find(facts: Facts) -> list[Finding]:
    """Lines in loops whose copies take a fifth of the time."""
    found = []
    for entry in facts.lines.values():
        share = facts.share_of(entry.seconds.get("copy", 0.0))
        if share < 0.2 or not any(map(_is_of_one_tensor, entry.items)):
            continue
        line = entry.line
        if not enclosing(line.file, line.number, is_loop):
            continue
        copies = [i for i in entry.items if i.is_copy]
        calls = sum(i.calls for i in copies)
        moved = sum(i.run.bytes_written * i.calls for i in copies if i.run is not None)
        found.append(
            Finding.at(
                line.file,
                line.number,
                kind="copy",
                evidence=f"{share:.0%} of the time: {calls} calls "
                f"copy {moved / 2**20:.0f} MiB",
                fix="copy once before the loop, or not at all",
                share=share,
                patch=replaced(line.file, line.number, _PATTERN, ""),
            )
        )
    return found


def _is_of_one_tensor(item: Computation) -> bool:
    """Joining several is another matter: ``cat_in_loop.py``."""
    return item.is_copy and not isinstance(item.arguments[0], list)
