"""A chain of ops that torch.compile would run as fewer kernels; an option."""

from __future__ import annotations

import ast

from pellucid.diagnose.edits import (
    called_in_loops,
    definition_of,
    indent_of,
    tree_of,
)
from pellucid.diagnose.findings import Finding, Patch
from pellucid.diagnose.verdict import Facts

_CALLS = 5  # least number per iteration


def find(facts: Facts) -> list[Finding]:
    """The function or module that a loop of the script calls most."""
    best: tuple[float, Finding] | None = None
    for file in facts.settings.get("files", ()):
        for loop, statement, name in called_in_loops(file):
            if getattr(definition_of(tree_of(file), name), "decorator_list", ()):
                continue  # possibly compiled already
            share, calls = _inside(facts, file, statement, name)
            if share < 0.4 or calls < _CALLS * 3 or (best and share <= best[0]):
                continue
            before = f"{indent_of(file, loop.lineno)}{name} = torch.compile({name})"
            patch = Patch(file, ((loop.lineno, loop.lineno - 1, (before,)),))
            text = ast.unparse(statement).splitlines()[0]
            best = (
                share,
                Finding(
                    kind="overhead",
                    file=file,
                    line=statement.lineno,
                    text=text,
                    evidence=f"{share:.0%} of the time: {calls} calls",
                    fix=f"torch.compile({name})",
                    share=share,
                    patch=patch,
                    is_option=True,
                ),
            )
    return [best[1]] if best else []


def _inside(
    facts: Facts, file: str, statement: ast.stmt, name: str
) -> tuple[float, int]:
    """The share of the time and the calls of a statement, including its callees."""
    definition = definition_of(tree_of(file), name)
    seconds, calls = 0.0, 0
    for (path, number), entry in facts.lines.items():
        places = [p for p in (statement, definition) if p is not None]
        if path == file and any(
            p.lineno <= number <= (p.end_lineno or p.lineno) for p in places
        ):
            seconds, calls = seconds + entry.total, calls + entry.calls
    return facts.share_of(seconds), calls
