"""A container that every iteration appends to and of which nothing reads all values:
nothing reads it as a whole, or only reduced to numbers.

Whether a cache needs its old entries is measured: without them, a program that does
computes them again, and takes longer.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pellucid.diagnose.edits import indent_of, tree_of
from pellucid.diagnose.findings import Finding, Patch
from pellucid.diagnose.held import Held
from pellucid.diagnose.keeping import Keeping, keeping_of, last_name
from pellucid.diagnose.verdict import Facts

_LEAST = 1 << 20  # bytes
_PART = 8  # of a cache's entries, as many as the patch keeps
_UNREAD = "and is never read as a whole"
_REDUCED = "of which only reductions are read"
_NUMBERS = (
    *("mean", "sum", "max", "min", "norm", "std", "var", "item", "numel", "median"),
    *("any", "all", "argmax", "argmin", "prod", "count_nonzero", "shape", "size"),
)
_OWN = (
    *("append", "appendleft", "add", "insert", "put", "setdefault", "get"),
    "move_to_end",
)


def find(facts: Facts) -> list[Finding]:
    """The statements that append to caches and lists that hold storages to the end."""
    findings: dict[str, Finding] = {}
    for entry in facts.settings.get("held", ()):
        for name in entry.containers - entry.graph_roots:
            places = keeping_of(facts.files, name)
            if entry.nbytes < _LEAST or not places:
                continue
            is_reduced = _is_reduced(facts, name)
            if not is_reduced and _is_read(facts, name):
                continue
            findings.setdefault(name, _finding(name, entry, places[0], is_reduced))
    return list(findings.values())


def _finding(name: str, entry: Held, place: Keeping, is_reduced: bool) -> Finding:
    return Finding.at(
        place.file,
        place.line,
        kind="leak",
        evidence=f"{name} holds {entry.nbytes / 2**20:.1f} MiB of {entry.count} rounds "
        + ("to the end, " + (_REDUCED if is_reduced else _UNREAD)),
        fix=f"keep only what is read of each in {name}: its mean, its norm, item()"
        if is_reduced
        else f"bound {name} (deque(maxlen=...), an LRU cache), or delete what is done "
        "with",
        share=0.12 if is_reduced else 0.1,
        patch=None if is_reduced else _bounded(entry, place),
    )


def _bounded(entry: Held, place: Keeping) -> Patch | None:
    """The patch that drops a dict's oldest entry when it has many; None of others."""
    statement = place.statement
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if not isinstance(target, ast.Subscript):
        return None
    name, last = ast.unparse(target.value), statement.end_lineno or place.line
    indent, most = indent_of(place.file, place.line), max(entry.count // _PART, 1)
    lines = (
        f"{indent}if len({name}) > {most}:",
        f"{indent}    {name}.pop(next(iter({name})))",
    )
    return Patch(place.file, ((last + 1, last, lines),))


def _is_reduced(facts: Facts, name: str) -> bool:
    """Whether a program reads the values of a container, all of them as numbers."""
    reads = [_reads_numbers(*read) for read in _reads(facts, name)]
    return bool(reads) and all(reads)


def _is_read(facts: Facts, name: str) -> bool:
    """Whether a program reads a container other than by single items and its length."""
    return any(True for _ in _reads(facts, name))


def _reads(facts: Facts, name: str) -> Iterator[tuple[ast.AST, dict[int, ast.AST]]]:
    """Nodes that read a container other than by single items and its length, each with
    the parents of all nodes of its file.
    """
    for file in facts.files:
        tree = tree_of(file)
        parents = _parents(tree)
        for node in ast.walk(tree) if tree else ():
            parent = parents.get(id(node))
            if _is_named(node, name) and not _is_of_items(node, parent):  # type: ignore[arg-type]
                yield node, parents


def _reads_numbers(node: ast.AST, parents: dict[int, ast.AST]) -> bool:
    """Whether a container's values are only iterated, and each is made a number."""
    while True:
        outer = parents.get(id(node))
        is_view = isinstance(outer, ast.Attribute) and outer.attr in ("items", "values")
        is_slice = isinstance(outer, ast.Subscript) and outer.value is node
        is_call = isinstance(outer, ast.Call) and outer.func is node
        if not (is_view or is_slice or is_call):
            break
        node = outer  # type: ignore[assignment]
    loop: ast.AST | None = outer
    if isinstance(outer, ast.comprehension):
        loop = parents[id(outer)]
    elif not isinstance(outer, ast.For) or outer.iter is not node:
        return False
    target = (
        outer.target.elts[-1] if isinstance(outer.target, ast.Tuple) else outer.target
    )
    if not isinstance(target, ast.Name):
        return False
    uses = [
        n
        for n in ast.walk(loop)  # type: ignore[arg-type]
        if isinstance(n, ast.Name) and n.id == target.id and isinstance(n.ctx, ast.Load)
    ]
    return all(_is_number(use, parents) or _reads_numbers(use, parents) for use in uses)


def _is_number(node: ast.AST, parents: dict[int, ast.AST]) -> bool:
    """Whether methods, or ``float`` and the like, make a number of a value."""
    outer = parents.get(id(node))
    while isinstance(outer, ast.Attribute | ast.Call | ast.Subscript):
        if isinstance(outer, ast.Attribute) and outer.attr in _NUMBERS:
            call = parents.get(id(outer))
            if isinstance(call, ast.Call) and call.func is outer and not call.args:
                return True
        is_function = isinstance(outer, ast.Call) and isinstance(outer.func, ast.Name)
        if is_function and outer.func.id in ("float", "int", "len", "bool"):  # type: ignore[union-attr]
            return True
        node, outer = outer, parents.get(id(outer))
    return False


def _parents(tree: ast.Module | None) -> dict[int, ast.AST]:
    return {
        id(inner): outer
        for outer in (ast.walk(tree) if tree else ())
        for inner in ast.iter_child_nodes(outer)
    }


def _is_named(node: ast.AST, name: str) -> bool:
    """Whether a node reads a variable or an attribute of this name."""
    if not isinstance(node, ast.Name | ast.Attribute):
        return False
    return isinstance(node.ctx, ast.Load) and last_name(node) == name


def _is_of_items(node: ast.expr, parent: ast.AST | None) -> bool:
    """Whether a use of a container concerns items, their number, or a key."""
    if isinstance(parent, ast.Subscript) and parent.value is node:
        return not isinstance(parent.slice, ast.Slice)
    if isinstance(parent, ast.Attribute):
        return parent.attr in _OWN or last_name(parent) == last_name(node)
    if isinstance(parent, ast.Call):
        return isinstance(parent.func, ast.Name) and parent.func.id == "len"
    return isinstance(parent, ast.Compare) and node in parent.comparators
