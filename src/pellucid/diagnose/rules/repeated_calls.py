"""A module or function that a block calls twice with the same arguments."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence

import numpy as np

import pellucid as torch
from pellucid.diagnose.edits import replaced_nodes, tree_of
from pellucid.diagnose.findings import Finding, Patch
from pellucid.diagnose.verdict import Facts
from pellucid.profiler._timeline.log import Kind, Log

_SHARE, _CALLS = 0.08, 3
# Between two calls these change what a module computes, or its arguments.
_CHANGING = ("step", "load_state_dict", "manual_seed", "next", "train", "eval")


def find(facts: Facts) -> list[Finding]:
    """The second call, where it takes a share of the time and runs several times."""
    findings = []
    for file in facts.files:
        tree = tree_of(file)
        for block in _blocks(tree):
            for first, second, statement in _pairs(block):
                inside = facts.within(file, statement)
                entry = facts.lines.get((file, statement.lineno))
                share = facts.share_of(inside.total)
                if share < _SHARE or entry is None or entry.calls < _CALLS:
                    continue
                if _draws(facts.log, file, statement):
                    continue
                text = ast.unparse(second)
                # Nodes that backward runs: the loss is made of the second result too.
                is_trained = inside.nodes > inside.unrun
                findings.append(
                    Finding.at(
                        file,
                        statement.lineno,
                        kind="waste",
                        evidence=f"{share:.0%} of the time computes {text} again, as "
                        f"line {first.lineno} did",
                        fix="keep the first result"
                        + ("" if is_trained else " (without its graph: detach())"),
                        share=share,
                        patch=_patch(file, block, first, second, is_trained),
                        keeps_output=True,
                    )
                )
    return findings


def _blocks(tree: ast.Module | None) -> Iterator[Sequence[ast.stmt]]:
    for node in ast.walk(tree) if tree else ():
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if isinstance(block, list) and len(block) > 1:
                yield block


def _pairs(
    block: Sequence[ast.stmt],
) -> Iterator[tuple[ast.Call, ast.Call, ast.stmt]]:
    """Equal calls of plain names or attributes in simple statements of a block, with
    nothing in between that changes what they compute.
    """
    seen: dict[str, ast.Call] = {}
    for statement in block:
        if hasattr(statement, "body"):
            seen.clear()
            continue
        calls = [n for n in ast.walk(statement) if isinstance(n, ast.Call)]
        for call in calls:
            text = ast.unparse(call)
            if _is_module_call(call) and text in seen:
                yield seen.pop(text), call, statement
        for call in calls:
            if _is_module_call(call):
                seen.setdefault(ast.unparse(call), call)
        changed = _changed(statement)
        names = {ast.unparse(c.func).rpartition(".")[2] for c in calls}
        if names & set(_CHANGING):
            seen.clear()
        seen = {t: c for t, c in seen.items() if not _names(c) & changed}


def _is_module_call(call: ast.Call) -> bool:
    """``model(x)``, ``self.net(x, mask)``: plain arguments, no function of torch."""
    function = ast.unparse(call.func)
    is_own = not function.startswith(("torch.", "F.", "nn.", "math.", "np.", "random."))
    is_plain = isinstance(call.func, ast.Name | ast.Attribute) and bool(call.args)
    arguments = (isinstance(a, ast.Name | ast.Attribute) for a in call.args)
    is_builtin = hasattr(builtins, function)
    return is_own and is_plain and all(arguments) and not is_builtin


def _draws(log: Log, file: str, statement: ast.stmt) -> bool:
    """Whether ops inside of a statement draw random numbers, as ``Dropout`` does: what
    it computes is another sample.
    """
    columns, last = log.columns, statement.end_lineno or statement.lineno
    random = [k for k, name in enumerate(columns.names) if _is_random(name)]
    calls = columns.rows_of(Kind.CALL)
    lines = np.unique(columns.line[calls[np.isin(columns.name[calls], random)]])
    return any(
        frame.file == file and statement.lineno <= frame.number <= last
        for line in lines.tolist()
        for frame in log.frames(line)
    )


def _is_random(name: str) -> bool:
    namespace, _, rest = name.partition("::")
    op, _, overload = rest.partition(".")
    packet = getattr(getattr(torch.ops, namespace, None), op, None)
    found = getattr(packet, overload or "default", None)
    return torch.Tag.nondeterministic_seeded in getattr(found, "tags", ())


def _changed(statement: ast.stmt) -> set[str]:
    """Names that a statement binds, or whose objects it may change."""
    changed: set[str] = set()
    for node in ast.walk(statement):
        is_stored = isinstance(getattr(node, "ctx", None), ast.Store)
        is_method = isinstance(node, ast.Attribute) and node.attr.endswith("_")
        if is_stored or is_method or isinstance(node, ast.AugAssign):
            changed |= _names(node.target if isinstance(node, ast.AugAssign) else node)
    return changed


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} - {"self"}


def _patch(
    file: str,
    block: Sequence[ast.stmt],
    first: ast.Call,
    second: ast.Call,
    is_trained: bool,
) -> Patch | None:
    """The second call reads what the first gave: by the name that it is bound to, or by
    one that its expression binds.
    """
    end = "" if is_trained else ".detach()"
    for statement in block:
        if isinstance(statement, ast.Assign) and statement.value is first:
            name = ast.unparse(statement.targets[0])
            return replaced_nodes(file, [(second, f"{name}{end}")])
    edits: list[tuple[ast.expr, str]] = [
        (first, f"(kept := {ast.unparse(first)})"),
        (second, f"kept{end}"),
    ]
    return replaced_nodes(file, edits)
