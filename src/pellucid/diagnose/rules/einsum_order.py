"""Two contractions by einsum whose intermediate result is larger than that of another
order: ``(q k) v`` of n positions, where ``q (k v)`` needs no n x n matrix.
"""

from __future__ import annotations

import ast
import string
from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from pellucid.diagnose.edits import enclosing, replaced_nodes, tree_of
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.patterns import Scope
from pellucid.diagnose.verdict import Facts
from pellucid.profiler._timeline.log import Kind

_SHARE, _CHEAPER = 0.1, 2
_SHAPING = ("aten::reshape", "aten::permute", "aten::matmul", "aten::bmm")


class _Contraction(NamedTuple):
    """``einsum("first,second->result", a, b)``: the labels, and the operands."""

    node: ast.Call
    labels: tuple[str, str]
    result: str
    operands: tuple[ast.expr, ast.expr]


def find(facts: Facts) -> list[Finding]:
    """Pairs of contractions, the first read by the second alone."""
    findings: list[Finding] = []
    for file in facts.files:
        tree = tree_of(file)
        calls = [n for n in (ast.walk(tree) if tree else ()) if isinstance(n, ast.Call)]
        for node in calls:
            outer = _contraction(node)
            if outer is None:
                continue
            around = enclosing(
                file, node.lineno, lambda n: isinstance(n, ast.FunctionDef)
            )
            scope = Scope(around[-1] if around else tree)  # type: ignore[arg-type]
            for place in (0, 1):
                findings += _reordered(facts, file, scope, outer, place)
    return findings


def _contraction(node: ast.AST) -> _Contraction | None:
    is_call = isinstance(node, ast.Call) and len(node.args) == 3
    if not is_call or not ast.unparse(node.func).endswith("einsum"):  # type: ignore[attr-defined]
        return None
    equation, first, second = node.args  # type: ignore[attr-defined]
    text = equation.value if isinstance(equation, ast.Constant) else None
    if not isinstance(text, str) or text.count(",") != 1 or "->" not in text:
        return None
    inputs, _, result = text.replace(" ", "").partition("->")
    one, _, other = inputs.partition(",")
    if not (one + other + result).isalpha() or len(set(one)) < len(one):
        return None
    return _Contraction(node, (one, other), result, (first, second))  # type: ignore[arg-type]


def _reordered(
    facts: Facts, file: str, scope: Scope, outer: _Contraction, place: int
) -> Iterator[Finding]:
    """The finding of a contraction whose operand at a place is another's result."""
    name = outer.operands[place]
    if not isinstance(name, ast.Name) or scope.reads.get(name.id) != 1:
        return
    assigned = scope.definition(name.id, outer.node.lineno)
    inner = _contraction(assigned.value) if assigned is not None else None
    if (
        assigned is None
        or inner is None
        or len(inner.result) != len(outer.labels[place])
    ):
        return
    inner = _renamed(inner, outer, place)
    sizes = _sizes(facts, file, inner) | _sizes(facts, file, outer)
    labels = [*inner.labels, outer.labels[1 - place]]
    operands = [*inner.operands, outer.operands[1 - place]]
    if not set("".join(labels)) <= set(sizes):
        return
    costs = [_cost(labels, outer.result, last, sizes) for last in range(3)]
    best = min(range(3), key=lambda last: costs[last])
    share = _share(facts, file, inner, outer)
    if share < _SHARE or _CHEAPER * costs[best] > costs[2]:
        return
    one, other = (k for k in range(3) if k != best)
    kept = _kept(labels, outer.result, best)
    texts = [ast.unparse(operand) for operand in operands]
    function = ast.unparse(outer.node.func)
    first = f'{function}("{labels[one]},{labels[other]}->{kept}", '
    first += f"{texts[one]}, {texts[other]})"
    text = (
        f'{function}("{labels[best]},{kept}->{outer.result}", {texts[best]}, {first})'
    )
    yield Finding.at(
        file,
        assigned.lineno,
        kind="compute",
        evidence=f"{share:.0%} of the time: two contractions whose intermediate result "
        f"is larger than it needs to be, {costs[2] / costs[best]:.0f} times the work",
        fix=text,
        share=share,
        patch=replaced_nodes(file, [(outer.node, text), (assigned.value, "None")]),
    )


def _renamed(inner: _Contraction, outer: _Contraction, place: int) -> _Contraction:
    """With the labels that the outer one has for its result, and others of its own."""
    names = dict(zip(inner.result, outer.labels[place], strict=True))
    used = set("".join(outer.labels)) | set(outer.result)
    free = iter(sorted(set(string.ascii_letters) - used, key=str.swapcase))
    for label in "".join(inner.labels):
        if label not in names:
            names[label] = label if label not in used else next(free)
            used.add(names[label])
    table = str.maketrans(names)
    one, other = (labels.translate(table) for labels in inner.labels)
    return inner._replace(labels=(one, other), result=inner.result.translate(table))


def _sizes(facts: Facts, file: str, one: _Contraction) -> dict[str, int]:
    """Of the labels of a recorded contraction; without what it sums over, if that is
    not one label.
    """
    columns = facts.log.columns
    found: dict[str, int] = {}
    rows = columns.rows_of(Kind.CALL)
    rows = rows[columns.parent[rows] < 0]
    places, lines = facts.log.user_lines(rows)
    own = [
        k
        for k, line in enumerate(lines)
        if line.file == file
        and one.node.lineno <= line.number <= (one.node.end_lineno or 0)
    ]
    summed = set("".join(one.labels)) - set(one.result)
    for row, place in zip(rows.tolist(), places.tolist(), strict=True):
        name = columns.names[columns.name[row]]
        if place not in own or name not in _SHAPING:
            continue
        arguments = facts.log.arguments(row)
        shape, shapes = tuple(arguments[0].shape), arguments[1]
        if name == "aten::reshape":
            made = tuple(shapes)
        elif name == "aten::permute":
            made = tuple(shape[axis] for axis in shapes)
        else:
            made = (*shape[:-1], shapes.shape[-1])
            if len(summed) == 1:
                found |= dict.fromkeys(summed, shape[-1])
        if len(made) == len(one.result):
            found |= dict(zip(one.result, made, strict=True))
    return found


def _kept(labels: list[str], result: str, last: int) -> str:
    """The labels of the product of all operands but one, that are read later."""
    read = set(result) | set(labels[last])
    others = "".join(labels[k] for k in range(3) if k != last)
    return "".join(dict.fromkeys(label for label in others if label in read))


def _cost(labels: list[str], result: str, last: int, sizes: dict[str, int]) -> int:
    """The multiplications, if one operand comes last."""
    others = {label for k in range(3) if k != last for label in labels[k]}
    kept = set(_kept(labels, result, last)) | set(labels[last])
    return sum(prod(sizes[label] for label in work) for work in (others, kept))


def _share(facts: Facts, file: str, *both: _Contraction) -> float:
    """Of the time, with that of the backward pass."""
    lines = {
        (file, number)
        for one in both
        for number in range(one.node.lineno, (one.node.end_lineno or 0) + 1)
    }
    own = sum(facts.lines[line].total for line in lines if line in facts.lines)
    return facts.share_of(own + sum(facts.backward.get(line, 0.0) for line in lines))
