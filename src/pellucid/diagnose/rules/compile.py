"""A chain of ops that torch.compile would run as fewer kernels; an option."""

from __future__ import annotations

import ast

from pellucid.diagnose.edits import enclosing, indent_of, is_loop, statement_at, tree_of
from pellucid.diagnose.findings import Finding, Patch
from pellucid.diagnose.verdict import Facts

_CALLS = 5  # that a round runs, at least


def find(facts: Facts) -> list[Finding]:
    """The function or module that a loop of the script calls most."""
    best: tuple[float, Finding] | None = None
    for file in facts.settings.get("files", ()):
        for loop, statement, name in _called(file):
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


def _called(file: str) -> list[tuple[ast.stmt, ast.stmt, str]]:
    """(the outermost loop, a statement in it, the plain name that it calls), of names
    that the file defines outside of the loop.
    """
    tree = tree_of(file)
    found: list[tuple[ast.stmt, ast.stmt, str]] = []
    for call in ast.walk(tree) if tree else ():
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
            continue
        loops = enclosing(file, call.lineno, is_loop)
        statement = statement_at(file, call.lineno)
        if loops and statement is not None and _definition(tree, call.func.id):
            found.append((loops[0], statement, call.func.id))
    return found


def _definition(tree: ast.Module | None, name: str) -> ast.stmt | None:
    """Of a function, or of the class of an object that is bound to the name; the
    binding itself if the class is not the file's.
    """
    for node in tree.body if tree else ():
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return node
        if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)):
            continue
        if name in [ast.unparse(target) for target in node.targets]:
            made = ast.unparse(node.value.func)
            classes = (n for n in tree.body if isinstance(n, ast.ClassDef))  # type: ignore[union-attr]
            return next((n for n in classes if n.name == made), node)
    return None


def _inside(
    facts: Facts, file: str, statement: ast.stmt, name: str
) -> tuple[float, int]:
    """The share of the time and the calls of a statement and of what it calls."""
    definition = _definition(tree_of(file), name)
    seconds, calls = 0.0, 0
    for (found, number), entry in facts.lines.items():
        places = [p for p in (statement, definition) if p is not None]
        if found == file and any(
            p.lineno <= number <= (p.end_lineno or p.lineno) for p in places
        ):
            seconds, calls = seconds + entry.total, calls + entry.calls
    return facts.share_of(seconds), calls
