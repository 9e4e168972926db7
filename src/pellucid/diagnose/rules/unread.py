"""Statements whose results nothing reads: a score computed in every epoch of which the
last is printed, a layer of which no output depends.

What a block's statements read and bind is in its syntax tree. Statements with a visible
effect are needed, and those that bind what a needed one reads; the others are not. A
statement whose names are read only behind its loop is needed once. Nothing is named
whose calls may have effects, and no loop that does nothing else: it is there to measure
or to warm up.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from pellucid.diagnose.edits import called_names, indent_of, tree_of
from pellucid.diagnose.findings import Finding, Patch
from pellucid.diagnose.verdict import Facts

_SHARE, _MOST, _CALLS = 0.1, 0.9, 6
_Block = ast.For | ast.While | ast.FunctionDef
# Calls that change something, or that a clock surrounds.
_EFFECTS = {
    *("backward", "step", "zero_grad", "append", "extend", "add", "insert", "update"),
    *("pop", "popleft", "popitem", "remove", "clear", "discard", "setdefault", "sort"),
    *("print", "write", "writelines", "save", "dump", "log", "put", "send", "next"),
    *("load_state_dict", "manual_seed", "seed", "setattr", "exec", "eval", "locals"),
    *("perf_counter", "time", "process_time", "monotonic", "timeit", "synchronize"),
}
_HARMLESS = ("eval", "train")  # of modules
_ENDS = ast.Return | ast.Yield | ast.YieldFrom | ast.Break | ast.Continue | ast.Raise


def find(facts: Facts) -> list[Finding]:
    """Of each loop and function the statements that are not needed in each round."""
    findings: list[Finding] = []
    seen: list[ast.stmt] = []
    for file in facts.files:
        for scope, block in _blocks(tree_of(file)):
            once, never = _unneeded(file, scope, block)
            for units, is_late in ((once, True), (never, False)):
                units = [u for u in units if not any(_holds(s, u) for s in seen)]
                finding = _finding(facts, file, block, units, is_late)
                if finding is not None:
                    findings.append(finding)
                    seen += units
    return findings


def _blocks(tree: ast.Module | None) -> list[tuple[ast.AST, _Block]]:
    """Functions and loops with the function or module around, the outermost first."""
    found: list[tuple[ast.AST, _Block]] = []

    def visit(node: ast.AST, scope: ast.AST) -> None:
        for inner in ast.iter_child_nodes(node):
            if isinstance(inner, _Block):
                found.append((scope, inner))
            is_scope = isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef)
            visit(inner, inner if is_scope else scope)

    if tree is not None:
        visit(tree, tree)
    return found


def _holds(outer: ast.stmt, inner: ast.stmt) -> bool:
    last = outer.end_lineno or outer.lineno
    return outer.lineno <= inner.lineno and (inner.end_lineno or 0) <= last


def _unneeded(
    file: str, scope: ast.AST, block: _Block
) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """Statements of a block that are needed once, behind it, and that never are."""
    body = block.body
    numbers = _numbers(block)
    needed = [unit for unit in body if _has_effect(file, unit, numbers)]
    header = block.test if isinstance(block, ast.While) else None
    read = _read([header] if header is not None else [])
    needed = _closure(body, needed, read)
    behind = (
        set() if isinstance(block, ast.FunctionDef) else _read_outside(scope, block)
    )
    late = [unit for unit in _closure(body, needed, behind) if unit not in needed]
    never = [unit for unit in body if unit not in needed and unit not in late]
    if isinstance(block, ast.FunctionDef) and any(
        isinstance(n, ast.Global | ast.Nonlocal) for n in ast.walk(block)
    ):
        return [], []
    return late, never


def _closure(
    body: Sequence[ast.stmt], needed: Sequence[ast.stmt], read: set[str]
) -> list[ast.stmt]:
    """Statements that are needed, or bind names that these read or ``read`` has."""
    found = list(needed)
    while True:
        names = read | _read(found)
        more = [u for u in body if u not in found and _bound(u) & names]
        if not more:
            return [unit for unit in body if unit in found]
        found += more


def _read(nodes: Sequence[ast.AST]) -> set[str]:
    """The names that nodes read; an item or a total that is added to is read."""
    names = (n for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, ast.Load)}


def _bound(node: ast.AST) -> set[str]:
    names = (n for n in ast.walk(node) if isinstance(n, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, ast.Store)}


def _read_outside(scope: ast.AST, block: ast.stmt) -> set[str]:
    """The names that a scope, and what it defines, reads outside of a block; of a loop
    within loops also what an outer one reads in its next round.
    """
    inside = set(ast.walk(block))
    return {
        node.id
        for node in ast.walk(scope)
        if isinstance(node, ast.Name)
        and node not in inside
        and isinstance(node.ctx, ast.Load)
    }


def _has_effect(file: str, unit: ast.stmt, numbers: set[str]) -> bool:
    """Whether a statement may do more than bind names of its block; ``numbers``: those
    that it adds to without changing an object.
    """
    for node in ast.walk(unit):
        if isinstance(node, ast.AugAssign) and ast.unparse(node.target) not in numbers:
            return True
        if isinstance(node, ast.keyword) and node.arg == "out":
            return True
        if isinstance(node, _ENDS | ast.Delete | ast.Assert | ast.Global | ast.Import):
            return True
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.NamedExpr | ast.Await):
            return True
        is_stored = isinstance(getattr(node, "ctx", None), ast.Store | ast.Del)
        if is_stored and isinstance(node, ast.Attribute | ast.Subscript):
            return True
        if isinstance(node, ast.Expr) and not _is_harmless(node):
            return True
    names = called_names(file, unit)
    return bool(names & _EFFECTS - set(_HARMLESS)) or any(map(_is_in_place, names))


def _numbers(block: ast.stmt) -> set[str]:
    """The names that a block binds to constants before it adds to them."""
    return {
        ast.unparse(target)
        for node in ast.walk(block)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
    }


def _is_harmless(node: ast.Expr) -> bool:
    """A text, or a module's change of mode."""
    call = node.value
    if isinstance(call, ast.Constant):
        return True
    function = call.func if isinstance(call, ast.Call) else None
    return isinstance(function, ast.Attribute) and function.attr in _HARMLESS


def _is_in_place(name: str) -> bool:
    return name.endswith("_") and not name.endswith("__")


def _finding(
    facts: Facts, file: str, block: _Block, units: Sequence[ast.stmt], is_late: bool
) -> Finding | None:
    """Of statements that take a share of the time, and not all of their block's."""
    chains = {c for u in units for c in facts.stacks.chains_within(file, u)}
    inside, whole = facts.stacks.of(sorted(chains)), facts.within(file, block)
    share = max(
        facts.share_of(inside.total), *(facts.share_within(file, u) for u in units), 0.0
    )
    is_all = inside.total >= _MOST * whole.total and not _returns(block)
    if share < _SHARE or inside.calls < _CALLS or is_all:
        return None
    hottest = max(units, key=lambda u: facts.within(file, u).total)
    when = (
        "only the last result is read, behind the loop"
        if is_late
        else ("nothing reads the results")
    )
    return Finding.at(
        file,
        hottest.lineno,
        kind="waste",
        evidence=f"{share:.0%} of the time: {inside.calls} calls, and {when}",
        fix="compute it once, behind the loop" if is_late else "leave it out",
        share=share,
        patch=_moved(file, block, units) if is_late else _left_out(file, units),
        keeps_output=True,
    )


def _returns(block: ast.stmt) -> bool:
    """Whether a function is called for a result."""
    is_function = isinstance(block, ast.FunctionDef)
    nodes = ast.walk(block) if is_function else ()
    return any(isinstance(n, ast.Return) and n.value is not None for n in nodes)


def _left_out(file: str, units: Sequence[ast.stmt]) -> Patch:
    edits = [
        (u.lineno, u.end_lineno or u.lineno, (f"{indent_of(file, u.lineno)}pass",))
        for u in units
    ]
    return Patch(file, tuple(edits))


def _moved(file: str, block: ast.stmt, units: Sequence[ast.stmt]) -> Patch:
    """The statements behind their loop."""
    indent = indent_of(file, block.lineno)
    texts = (line for u in units for line in ast.unparse(u).split("\n"))
    last = block.end_lineno or block.lineno
    behind = last + 1, last, tuple(indent + line for line in texts)
    return Patch(file, (*_left_out(file, units).edits, behind))
