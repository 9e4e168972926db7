"""Products that would run in bfloat16 at a higher rate; an option."""

from __future__ import annotations

import ast

from pellucid.diagnose.edits import called_in_loops, wrapped
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts

_FASTER = 1.3  # least rate of bfloat16 products over that of float32 on this machine


def find(facts: Facts) -> list[Finding]:
    """The call of a model that spends its time in float32 products."""
    rates = facts.roof.products
    items = [
        item
        for item in facts.items
        if item.run is not None and item.run.products and item.dtype == "float32"
    ]
    share = facts.share_of(sum(item.total for item in items))
    gain = rates.get("bfloat16", 0.0) / rates["float32"]
    if share < 0.5 or gain < _FASTER:
        return []
    for file in facts.settings.get("files", ()):
        for _, statement, name in called_in_loops(file):
            if not isinstance(statement, ast.Assign):
                continue
            head = "with torch.autocast('cpu', dtype=torch.bfloat16):"
            return [
                Finding.at(
                    file,
                    statement.lineno,
                    kind="compute",
                    evidence=f"{share:.0%} of the time is float32 products; this "
                    f"machine multiplies bfloat16 {gain:.1f}x as fast",
                    fix=f"autocast {name} to bfloat16",
                    share=share * (1 - 1 / gain),
                    patch=wrapped(file, statement, head),
                    is_option=True,
                )
            ]
    return []
