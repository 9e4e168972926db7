"""Forward passes that run again in backward, to save memory that is not short."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator

from pellucid.diagnose.edits import replaced_nodes, statement_at, tree_of
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts

_SHARE, _SHORT = 0.1, 0.05  # of the time; of this machine's memory
_OPTIONS = ("use_reentrant", "preserve_rng_state", "context_fn", "determinism_check")


def find(facts: Facts) -> list[Finding]:
    """Calls of ``checkpoint``, where lines of forward passes take a share of the time
    within ``backward()``.
    """
    stacks = facts.stacks
    forward = {f[0] for f in stacks.frames if f and not any(map(_is_backward, f))}
    again = [
        chain
        for chain, frames in enumerate(stacks.frames)
        if frames and frames[0] in forward and any(map(_is_backward, frames[1:]))
    ]
    share = facts.share_of(stacks.of(again).total)
    peak = int(facts.settings["memory"]["peak_allocated_bytes"])
    if share < _SHARE or peak > _SHORT * _memory():
        return []
    return [
        Finding.at(
            file,
            call.lineno,
            kind="waste",
            evidence=f"{share:.0%} of the time runs forward passes again in backward; "
            f"the program needs {peak >> 20} of {_memory() >> 20} MiB",
            fix=f"no checkpoint: {text}",
            share=share,
            patch=replaced_nodes(file, [(call, text)]),
        )
        for file in facts.files
        for call, text in _checkpoints(tree_of(file))
    ]


def _is_backward(place: tuple[str, int]) -> bool:
    statement = statement_at(*place)
    return statement is not None and any(
        isinstance(node, ast.Attribute) and node.attr == "backward"
        for node in ast.walk(statement)
    )


def _memory() -> int:
    """The bytes of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _checkpoints(tree: ast.Module | None) -> Iterator[tuple[ast.Call, str]]:
    """Calls of ``checkpoint(f, x)``, and ``f(x)``."""
    for node in ast.walk(tree) if tree else ():
        if not isinstance(node, ast.Call) or len(node.args) < 2:
            continue
        if ast.unparse(node.func).rpartition(".")[2] == "checkpoint":
            function, *arguments = map(ast.unparse, node.args)
            named = (k for k in node.keywords if k.arg not in _OPTIONS)
            given = ", ".join([*arguments, *(ast.unparse(k) for k in named)])
            yield node, f"{function}({given})"
