"""Convolutions that might be faster with channels last; an option."""

from __future__ import annotations

from pellucid.diagnose.edits import called_in_loops, indent_of
from pellucid.diagnose.findings import Finding, Patch
from pellucid.diagnose.verdict import Facts


def find(facts: Facts) -> list[Finding]:
    """The model that a loop calls, where most of the time is convolutions."""
    items = [item for item in facts.items if item.name.startswith("conv2d")]
    share = facts.share_of(sum(item.total for item in items))
    calls = sum(item.calls for item in items)
    if share < 0.3 or any(True for _ in facts.matching("channels_last")):
        return []
    for file in facts.settings.get("files", ()):
        for loop, statement, name in called_in_loops(file):
            line = f"{name} = {name}.to(memory_format=torch.channels_last)"
            before = indent_of(file, loop.lineno) + line
            return [
                Finding.at(
                    file,
                    statement.lineno,
                    kind="bandwidth",
                    evidence=f"{share:.0%} of the time is {calls} convolutions",
                    fix=f"{name}.to(memory_format=torch.channels_last)",
                    share=share,
                    patch=Patch(file, ((loop.lineno, loop.lineno - 1, (before,)),)),
                    is_option=True,
                )
            ]
    return []
