"""Most of the time goes to float64: was that intended?"""

from __future__ import annotations

from pellucid.diagnose.edits import replaced_anywhere
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts

_WORDS = r"\.double\(\)|float64|\.to\(torch\.double\)|DoubleTensor|torch\.double\b"


def find(facts: Facts) -> list[Finding]:
    """The line that brings float64 in."""
    wide = [item for item in facts.items if item.dtype == "float64"]
    share = facts.share_of(sum(item.seconds for item in wide))
    lines = [item.line for item in wide if item.line is not None]
    if share < 0.2 or not lines:
        return []
    for file in dict.fromkeys(line.file for line in lines):
        patch = replaced_anywhere(file, r"\.double\(\)", ".float()")
        patch = patch or replaced_anywhere(
            file, r"torch\.(float64|double)\b", "torch.float32"
        )
        if patch is None:
            continue
        number = patch.edits[0][0]
        return [
            Finding.at(
                file,
                number,
                kind="compute",
                evidence=f"{share:.0%} of the time is {len(wide)} float64 computations",
                fix="float32: half the bytes, twice the lanes",
                share=share,
                patch=patch,
            )
        ]
    return []
