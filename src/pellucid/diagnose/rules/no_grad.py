"""Forward passes whose graphs no backward pass runs."""

from __future__ import annotations

import ast

from pellucid.diagnose.edits import indent_of, tree_of, wrapped
from pellucid.diagnose.findings import Finding, Patch
from pellucid.diagnose.stacks import Inside
from pellucid.diagnose.verdict import Facts

_NODES, _SHARE, _UNRUN = 10, 0.05, 0.98
_HEAD = "with torch.no_grad():"


def find(facts: Facts) -> list[Finding]:
    """The outermost functions and statements whose nodes are never run; lines of which
    some are: they compute what the loss does not depend on.
    """
    findings: list[Finding] = []
    for file in facts.files:
        tree = tree_of(file)
        whole = _largest(facts, file, _unrun(facts, file, tree.body if tree else []))
        findings += [_without_graph(facts, file, node) for node in whole]
        findings += _unread(facts, file, whole)
    return findings


def _unrun(facts: Facts, file: str, body: list[ast.stmt]) -> list[ast.stmt]:
    """The outermost statements of a block whose nodes are never run."""
    found: list[ast.stmt] = []
    for statement in body:
        inside = facts.within(file, statement)
        if inside.unrun < _NODES or facts.share_of(inside.total) < _SHARE:
            continue
        is_unit = not isinstance(statement, ast.ClassDef | ast.If | ast.Try | ast.With)
        if is_unit and inside.unrun >= _UNRUN * inside.nodes:
            found.append(statement)
            continue
        for name in ("body", "orelse", "finalbody"):
            found += _unrun(facts, file, getattr(statement, name, []))
    return found


def _largest(facts: Facts, file: str, found: list[ast.stmt]) -> list[ast.stmt]:
    """Those that no other one contains or calls. Of a function and its only call the
    function, of a method the call.
    """
    ordered = [(_makers(facts, file, node), node) for node in found]
    ordered.sort(key=lambda one: (-len(one[0]), not _is_plain(one[1])))
    kept: list[tuple[set[int], ast.stmt]] = []
    for chains, node in ordered:
        if not any(chains <= other for other, _ in kept):
            kept.append((chains, node))
    return [node for _, node in kept]


def _is_plain(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef) and not node.col_offset


def _makers(facts: Facts, file: str, node: ast.stmt) -> set[int]:
    chains = facts.stacks.chains_within(file, node)
    return {chain for chain in chains if facts.stacks.nodes[chain]}


def _without_graph(facts: Facts, file: str, node: ast.stmt) -> Finding:
    inside = facts.within(file, node)
    share = facts.share_of(inside.total)
    return Finding.at(
        file,
        _heaviest(facts, file, node),
        kind="waste",
        evidence=f"{share:.0%} of the time: {inside.unrun} nodes are recorded, no "
        "backward pass runs them",
        fix="torch.no_grad(): record no graph here",
        share=max(share * 0.5, 0.06),
        patch=_patch(file, node),
        keeps_output=True,
    )


def _heaviest(facts: Facts, file: str, node: ast.stmt) -> int:
    """The line of the node that makes most nodes, with what it calls."""
    counts: dict[int, int] = {}
    first, last = node.lineno, node.end_lineno or node.lineno
    for chain in _makers(facts, file, node):
        places = [n for f, n in facts.stacks.frames[chain] if f == file]
        number = next((n for n in places if first <= n <= last), node.lineno)
        made = int(facts.stacks.nodes[chain])
        counts[number] = counts.get(number, 0) + made
    return max(counts, key=lambda number: counts[number], default=node.lineno)


def _patch(file: str, node: ast.stmt) -> Patch:
    if not isinstance(node, ast.FunctionDef):
        return wrapped(file, node, _HEAD)
    line = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    decorator = f"{indent_of(file, line)}@torch.no_grad()"
    return Patch(file, ((line, line - 1, (decorator,)),))


def _unread(facts: Facts, file: str, whole: list[ast.stmt]) -> list[Finding]:
    """Lines of a trained model with results that no backward pass reaches."""
    known = {c for node in whole for c in facts.stacks.chains_within(file, node)}
    groups: dict[int, list[int]] = {}
    for chain, frames in enumerate(facts.stacks.frames):
        is_unrun = facts.stacks.unrun[chain] >= max(
            _UNRUN * facts.stacks.nodes[chain], 1
        )
        if is_unrun and chain not in known and frames and frames[0][0] == file:
            groups.setdefault(frames[0][1], []).append(chain)
    findings = []
    for number, chains in groups.items():
        inside: Inside = facts.stacks.of(chains)
        share = facts.share_of(inside.total)
        if share >= 2 * _SHARE and inside.unrun >= _NODES:
            findings.append(
                Finding.at(
                    file,
                    number,
                    kind="waste",
                    evidence=f"{share:.0%} of the time: {inside.calls} calls, of whose "
                    "results no backward pass is run: the loss does not use them",
                    fix="skip what the loss does not read (or compute it under "
                    "torch.no_grad())",
                    share=share,
                )
            )
    return findings
