"""Modules that are constructed again in every step or request: parameters are made and
initialised, and mostly overwritten.
"""

from __future__ import annotations

import ast

from pellucid.diagnose.edits import enclosing, is_loop, is_repeated, tree_of
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts

_SHARE, _CALLS = 0.1, 3


def find(facts: Facts) -> list[Finding]:
    """Statements in loops, or in functions that these call, that construct a module of
    the program with the same arguments for a share of the time.
    """
    findings = []
    for file in facts.files:
        tree = tree_of(file)
        modules = {
            node.name
            for node in (ast.walk(tree) if tree else ())
            if isinstance(node, ast.ClassDef)
            and any("Module" in ast.unparse(base) for base in node.bases)
        }
        for node in ast.walk(tree) if modules and tree else ():
            if not isinstance(node, ast.Assign) or not _constructs(node, modules):
                continue
            inside = facts.within(file, node)
            share = facts.share_of(inside.total)
            if share < _SHARE or inside.calls < _CALLS or _varies(file, node):
                continue
            if is_repeated(file, node.lineno):
                findings.append(_finding(file, node, share))
    return findings


def _finding(file: str, node: ast.Assign, share: float) -> Finding:
    return Finding.at(
        file,
        node.lineno,
        kind="waste",
        evidence=f"{share:.0%} of the time constructs the module again and "
        "initialises its parameters",
        fix="construct it once, before the loop, and keep it",
        share=share,
        is_certain=True,
    )


def _constructs(node: ast.Assign, modules: set[str]) -> bool:
    return isinstance(node.value, ast.Call) and ast.unparse(node.value.func) in modules


def _varies(file: str, node: ast.Assign) -> bool:
    """Whether its arguments are names that the loop or function around it binds."""
    scopes = enclosing(
        file, node.lineno, lambda n: is_loop(n) or isinstance(n, ast.FunctionDef)
    )
    bound: set[str] = set()
    for inner in (n for scope in scopes for n in ast.walk(scope)):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            bound.add(inner.id)
        if isinstance(inner, ast.arg):
            bound.add(inner.arg)
    read = {n.id for n in ast.walk(node.value) if isinstance(n, ast.Name)}
    return bool(read & bound)
