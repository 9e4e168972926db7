"""Functions of numbers, such as masks and filters, that are called again with the same
numbers.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from pellucid.diagnose.edits import cached, enclosing, tree_of
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.rules.hoist import is_pure
from pellucid.diagnose.verdict import Facts

_SHARE, _CALLS = 0.1, 3
_COUNTS = (
    "size",
    "len",
    "int",
    "float",
    "dim",
    "numel",
    "range",
    "round",
    "min",
    "max",
)


def find(facts: Facts) -> list[Finding]:
    """Pure functions of the program all of whose arguments are numbers or texts."""
    findings = []
    for file in facts.files:
        tree = tree_of(file)
        for node in ast.walk(tree) if tree else ():
            if not isinstance(node, ast.FunctionDef) or not is_pure(node):
                continue
            inside = facts.within(file, node)
            share = facts.share_of(inside.total)
            calls = _calls_of(file, node.name)
            if share < _SHARE or not calls or not _is_repeated(facts, file, node):
                continue
            values = [value for call in calls for value in _values(call)]
            if not values or not all(_is_number(file, value) for value in values):
                continue
            findings.append(
                Finding.at(
                    file,
                    _heaviest(facts, file, node),
                    kind="waste",
                    evidence=f"{share:.0%} of the time: {node.name} computes tensors "
                    "from numbers alone, again in every call",
                    fix=f"compute them once: @functools.cache of {node.name}",
                    share=share,
                    patch=cached(file, node),
                    keeps_output=True,
                )
            )
    return findings


def _calls_of(file: str, name: str) -> list[ast.Call]:
    """The calls of a function by its name, or as a method."""
    tree = tree_of(file)
    return [
        node
        for node in (ast.walk(tree) if tree else ())
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in (name, f"self.{name}")
    ]


def _values(call: ast.Call) -> Sequence[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _is_repeated(facts: Facts, file: str, node: ast.FunctionDef) -> bool:
    """Whether its lines ran several times."""
    first, last = node.lineno, node.end_lineno or node.lineno
    counts = (
        item.calls
        for number in range(first, last + 1)
        for item in getattr(facts.lines.get((file, number)), "items", ())
    )
    return max(counts, default=0) >= _CALLS


def _heaviest(facts: Facts, file: str, node: ast.FunctionDef) -> int:
    lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
    own = [facts.lines[file, n] for n in lines if (file, n) in facts.lines]
    best = max(own, key=lambda entry: entry.total, default=None)
    return best.line.number if best is not None else node.lineno


def _is_number(file: str, node: ast.expr) -> bool:
    """Whether the source shows that an expression is a number, a text or a setting."""
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.BinOp | ast.UnaryOp):
        return all(
            _is_number(file, n)
            for n in ast.iter_child_nodes(node)
            if isinstance(n, ast.expr)
        )
    if isinstance(node, ast.Call):
        return ast.unparse(node.func).rpartition(".")[2] in _COUNTS
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
    if isinstance(node, ast.Attribute):
        return _is_setting(file, node)
    return isinstance(node, ast.Name) and _is_number_name(file, node)


def _is_setting(file: str, node: ast.Attribute) -> bool:
    """Of ``self.window``, whether all assignments are of numbers or arguments."""
    tree = tree_of(file)
    values = [
        n.value
        for n in (ast.walk(tree) if tree else ())
        if isinstance(n, ast.Assign)
        and any(ast.unparse(t) == ast.unparse(node) for t in n.targets)
    ]
    return node.attr in ("device", "dtype") or (
        bool(values) and all(isinstance(v, ast.Constant | ast.Name) for v in values)
    )


def _is_number_name(file: str, node: ast.Name) -> bool:
    """Of a name, whether every assignment in its function, or in the module, is of a
    number: sizes of a tensor, counters, constants.
    """
    functions = enclosing(file, node.lineno, lambda n: isinstance(n, ast.FunctionDef))
    tree = tree_of(file)
    for scope in (*functions[::-1], *([tree] if tree else [])):
        sources = _sources(scope, node.id)
        if sources:
            return all(_gives_numbers(file, source) for source in sources)
    return False


def _sources(scope: ast.AST, name: str) -> list[ast.expr | None]:
    """What a name is assigned in a scope; None for arguments and loops of values."""
    found: list[ast.expr | None] = []
    for inner in ast.walk(scope):
        if isinstance(inner, ast.arg) and inner.arg == name:
            found.append(None)
        if isinstance(inner, ast.For) and _binds(inner.target, name):
            found.append(inner.iter)
        if isinstance(inner, ast.Assign):
            for target in inner.targets:
                if not _binds(target, name):
                    continue
                pair = target, inner.value
                if isinstance(target, ast.Tuple) and isinstance(inner.value, ast.Tuple):
                    both = zip(target.elts, inner.value.elts, strict=False)
                    pair = next((t, v) for t, v in both if _binds(t, name))
                found.append(pair[1])
    return found


def _binds(target: ast.expr, name: str) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(target))


def _gives_numbers(file: str, source: ast.expr | None) -> bool:
    if source is None:
        return False
    if isinstance(source, ast.Attribute) and source.attr == "shape":
        return True
    if isinstance(source, ast.Tuple | ast.List):
        return all(isinstance(n, ast.Constant) for n in source.elts)
    return not isinstance(source, ast.Name) and _is_number(file, source)
