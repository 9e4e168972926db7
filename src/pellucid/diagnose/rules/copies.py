"""Copies that a loop makes again and again."""

from __future__ import annotations

from pellucid.diagnose.edits import enclosing, is_loop, replaced
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import COPIES, Facts

_PATTERN = r"\.(clone|contiguous)\(\)"


def find(facts: Facts) -> list[Finding]:
    """Lines in loops whose copies take a fifth of the time."""
    found = []
    for entry in facts.lines.values():
        share = facts.share_of(entry.seconds.get("copy", 0.0))
        names = {item.name for item in entry.items} & COPIES
        if share < 0.2 or not names & {
            "clone",
            "contiguous",
            "copy_",
            "_to_copy",
            "to",
        }:
            continue
        line = entry.line
        if not enclosing(line.file, line.number, is_loop):
            continue
        moved = sum(i.run.bytes_written for i in entry.items if i.run is not None)
        found.append(
            Finding.at(
                line.file,
                line.number,
                kind="copy",
                evidence=f"{share:.0%} of the time: {len(entry.items)} calls copy "
                f"{moved / 2**20:.0f} MiB",
                fix="copy once before the loop, or not at all",
                share=share,
                patch=replaced(line.file, line.number, _PATTERN, ""),
            )
        )
    return found
