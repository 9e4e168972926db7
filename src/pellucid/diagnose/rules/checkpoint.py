"""Blocks whose saved values could be recomputed: memory for time, an option."""

from __future__ import annotations

import re

from pellucid.diagnose.edits import enclosing, is_loop, replaced
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts
from pellucid.profiler._timeline.storages import ROLES, Storages, backward_passes

_LEAST = 16 << 20  # bytes that a forward pass saves
_BLOCK = r"^(\s*)(\w+) = (\w+)\(\2\)\s*$"
_CALL = r"\1\2 = torch.utils.checkpoint.checkpoint(\3, \2, use_reentrant=False)"


def find(facts: Facts) -> list[Finding]:
    """``for block in blocks: x = block(x)``, where much is saved for backward."""
    passes, _ = backward_passes(facts.log)
    if not len(passes):
        return []
    storages = Storages(facts.log)
    saved_bytes = storages.nbytes[storages.roles == ROLES.index("saved")]
    saved = int(saved_bytes.sum()) // len(passes)
    if saved < _LEAST:
        return []
    for file, number, text in facts.matching(_BLOCK):
        called = re.match(_BLOCK, text)
        loops = enclosing(file, number, is_loop)
        targets = [getattr(getattr(n, "target", None), "id", "") for n in loops]
        if called is None or called[3] not in targets:
            continue
        return [
            Finding.at(
                file,
                number,
                kind="peak",
                evidence=f"a forward pass saves {saved >> 20} MiB for backward",
                fix=f"checkpoint each {called[3]}: compute it again in backward",
                share=0.06,
                patch=replaced(file, number, _BLOCK, _CALL),
                is_option=True,
            )
        ]
    return []
