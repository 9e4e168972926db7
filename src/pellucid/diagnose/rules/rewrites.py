"""Expressions that a cheaper one equals: a table of patterns and replacements.

A match is a hypothesis, as every finding is: its gain and whether the output is the
same are measured.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pellucid.diagnose.edits import enclosing, replaced_nodes, tree_of
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.patterns import (
    Match,
    Scope,
    expressions,
    filled,
    matches,
    pattern,
)
from pellucid.diagnose.verdict import Facts

_SHARE = 0.1
_PRODUCTS = ("matmul", "mm", "mv", "bmm", "linear")


class Rewrite(NamedTuple):
    """``before`` and ``after`` as `patterns.py` reads them; ``why``: of a report.
    ``dims``: what ``_d`` may be, if not any; ``keeps_output`` as in `Finding`.
    """

    kind: str
    before: str
    after: str
    why: str
    dims: tuple[str, ...] = ()
    keeps_output: bool = False


_TABLE = (
    Rewrite(
        "compute",
        "inv(_a) @ _b",
        "torch.linalg.solve(_a, _b)",
        "an inverse that is only multiplied",
    ),
    Rewrite(
        "compute",
        "_b @ inv(_a)",
        "torch.linalg.solve(_a, _b, left=False)",
        "an inverse that is only multiplied",
    ),
    Rewrite(
        "waste",
        "log(softmax(_a, _d))",
        "torch.log_softmax(_a, _d)",
        "the logarithm of a softmax, which is -inf where the softmax is 0",
    ),
    Rewrite(
        "waste",
        "log(softmax(_a, _d) + _e)",
        "torch.log_softmax(_a, _d)",
        "the logarithm of a softmax, kept from 0 by an addend",
    ),
    *(
        Rewrite(
            "waste",
            pattern,
            "-torch.nn.functional.cross_entropy(_a, _t, reduction='none')",
            "a cross entropy by one-hot rows: all but one element of each are 0",
            dims=("-1", "1"),  # of classes, which one_hot adds as the last
            keeps_output=True,
        )
        for logarithm in (
            *("log(softmax(_a, _d) + _e)", "log(softmax(_a, _d))"),
            "log_softmax(_a, _d)",
        )
        for rows in ("one_hot(_t, _n).float()", "one_hot(_t, _n)")
        for pattern in (
            f"({rows} * {logarithm}).sum(_d)",
            f"({logarithm} * {rows}).sum(_d)",
        )
    ),
    *(
        Rewrite(
            "waste",
            f"{rows} @ _b",
            "_b[_t]",
            "one-hot rows are made and multiplied: all but one element of each are 0",
        )
        for rows in ("one_hot(_t, _n).float()", "one_hot(_t, _n)")
    ),
    Rewrite(
        "waste",
        "log(sum(exp(_a), _d))",
        "torch.logsumexp(_a, _d)",
        "the logarithm of a sum of exponentials, in three passes",
    ),
    Rewrite(
        "waste",
        "argmax(softmax(_a, _d), _e)",
        "torch.argmax(_a, _e)",
        "a softmax of which only the largest place is read",
    ),
    Rewrite(
        "compute",
        "(_a @ _b) @ _c",
        "_a @ (_b @ _c)",
        "a chain of products whose intermediate result is larger than it needs to be",
    ),
    Rewrite(
        "compute",
        "_a @ (_b @ _c)",
        "(_a @ _b) @ _c",
        "a chain of products whose intermediate result is larger than it needs to be",
    ),
    Rewrite(
        "compute",
        "diag(_a) @ _b",
        "_a[:, None] * _b",
        "a product with a diagonal matrix, as if it were dense",
    ),
    Rewrite(
        "compute",
        "_a @ diag(_b)",
        "_a * _b",
        "a product with a diagonal matrix, as if it were dense",
    ),
    Rewrite(
        "compute",
        "trace(_a @ _b)",
        "(_a * _b.T).sum()",
        "a product of which only the diagonal is read",
    ),
    Rewrite(
        "compute",
        "diagonal(_a @ _b)",
        "(_a * _b.T).sum(-1)",
        "a product of which only the diagonal is read",
    ),
    Rewrite(
        "compute",
        "diag(_a @ _b)",
        "(_a * _b.T).sum(-1)",
        "a product of which only the diagonal is read",
    ),
    Rewrite(
        "copy",
        "_a[arange(_b, _c)]",
        "_a[_b:_c]",
        "rows copied by indices that are a range: a slice is a view",
    ),
    Rewrite(
        "copy",
        "_a[:, arange(_b, _c)]",
        "_a[:, _b:_c]",
        "columns copied by indices that are a range: a slice is a view",
    ),
    Rewrite(
        "copy",
        "index_select(_a, 0, arange(_b, _c))",
        "_a[_b:_c]",
        "rows copied by indices that are a range: a slice is a view",
    ),
    Rewrite(
        "waste",
        "cumsum(_a, _d)[:, -1]",
        "_a.sum(_d)",
        "a cumulative sum of which only the last is read",
    ),
    Rewrite(
        "waste",
        "cumsum(_a, _d)[..., -1]",
        "_a.sum(_d)",
        "a cumulative sum of which only the last is read",
    ),
    Rewrite(
        "waste",
        "nonzero(_a).shape[0]",
        "int(_a.count_nonzero())",
        "places that are only counted",
    ),
    Rewrite(
        "waste",
        "svd(_a).S",
        "torch.linalg.svdvals(_a)",
        "singular vectors that nothing reads",
    ),
    Rewrite(
        "waste",
        "svd(_a)[1]",
        "torch.linalg.svdvals(_a)",
        "singular vectors that nothing reads",
    ),
    Rewrite(
        "waste",
        "eigh(_a)[0]",
        "torch.linalg.eigvalsh(_a)",
        "eigenvectors that nothing reads",
    ),
    Rewrite(
        "waste",
        "det(_a).log()",
        "torch.logdet(_a)",
        "the logarithm of a determinant, which overflows",
    ),
)


# Calls with several results: the place of one that a cheaper call gives alone.
_OUTPUTS = (
    ("svd(_a)", 1, "torch.linalg.svdvals(_a)"),
    ("eigh(_a)", 0, "torch.linalg.eigvalsh(_a)"),
    ("eig(_a)", 0, "torch.linalg.eigvals(_a)"),
)


@dataclass
class _Found:
    """An expression of the program that a rewrite of the table matches."""

    node: ast.expr
    rewrite: Rewrite
    match: Match


def _replacements(group: Sequence[_Found]) -> dict[ast.expr, ast.expr]:
    """What replaces each expression; those inside of others are replaced there too."""
    made: dict[ast.expr, ast.expr] = {}
    for one in sorted(group, key=lambda f: sum(1 for _ in ast.walk(f.node))):
        made[one.node] = filled(one.rewrite.after, one.match, made)
    return made


def _text(tree: ast.expr) -> str:
    text = ast.unparse(tree).replace(".T.T", "")
    return f"({text})" if isinstance(tree, ast.BinOp) else text


def find(facts: Facts) -> list[Finding]:
    """Expressions of a function that one reason explains, where they, and what they
    read, take a tenth of the time.
    """
    findings: list[Finding] = []
    for file in facts.files:
        tree = tree_of(file)
        scopes: dict[ast.AST, Scope] = {}
        groups: dict[tuple[ast.AST, str], list[_Found]] = defaultdict(list)
        for node in expressions(tree) if tree else ():
            if not _is_called(facts, file, node):
                continue
            place = _scope_of(file, node.lineno, tree)
            scope = scopes.setdefault(place, Scope(place))
            for rewrite in (*_TABLE, *_repeats(node)):
                match = matches(pattern(rewrite.before), node, scope)
                if match is not None and _changes(rewrite, match, facts, file, node):
                    found = _Found(node, rewrite, match)
                    groups[place, rewrite.why].append(found)
        for (place, _), group in groups.items():
            findings += _finding(facts, file, group, scopes[place])
        for statement, rewrite in _unread(tree) if tree else ():
            findings += _of_outputs(facts, file, statement, rewrite)
    return findings


def _of_outputs(
    facts: Facts, file: str, statement: ast.Assign, rewrite: Rewrite
) -> Iterator[Finding]:
    entry = facts.lines.get((file, statement.lineno))
    share = facts.share_of(entry.total) if entry is not None else 0.0
    match = matches(pattern(rewrite.before), statement.value, Scope(statement))
    target = statement.targets[0]
    if share < _SHARE or match is None or not isinstance(target, ast.Tuple):
        return
    place = next(p for before, p, _ in _OUTPUTS if before == rewrite.before)
    text = ast.unparse(filled(rewrite.after, match))
    edits = [(target, ast.unparse(target.elts[place])), (statement.value, text)]
    yield Finding.at(
        file,
        statement.lineno,
        kind=rewrite.kind,
        evidence=f"{share:.0%} of the time: {rewrite.why}",
        fix=text,
        share=share,
        patch=replaced_nodes(file, edits),
    )


def _unread(tree: ast.Module) -> Iterator[tuple[ast.Assign, Rewrite]]:
    """``u, s, v = svd(a)`` of which the program reads one result only."""
    for node in ast.walk(tree):
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if not isinstance(target, ast.Tuple):
            continue
        assert isinstance(node, ast.Assign)
        reads = {n.id for n in ast.walk(tree) if _is_read(n)}  # type: ignore[attr-defined]
        read = [k for k, e in enumerate(target.elts) if ast.unparse(e) in reads]
        for before, place, after in _OUTPUTS:
            match = matches(pattern(before), node.value, Scope(tree))
            if match is not None and read == [place]:
                yield node, Rewrite("waste", before, after, "results nothing reads")


def _is_read(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)


def _is_called(facts: Facts, file: str, node: ast.expr) -> bool:
    return any(
        (file, number) in facts.lines
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    )


def _scope_of(file: str, line: int, tree: ast.AST | None) -> ast.AST:
    functions = enclosing(file, line, lambda n: isinstance(n, ast.FunctionDef))
    place = functions[-1] if functions else tree
    assert place is not None
    return place


def _repeats(node: ast.expr) -> Iterator[Rewrite]:
    """``x.repeat(1, n, 1)`` as a view; raises where a repeated dim is not of size 1."""
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    if not is_call or node.func.attr != "repeat" or not node.args:  # type: ignore[attr-defined]
        return
    texts = [ast.unparse(argument) for argument in node.args]  # type: ignore[attr-defined]
    if "1" in texts and any(text != "1" for text in texts):
        sizes = ", ".join("-1" if text == "1" else text for text in texts)
        yield Rewrite(
            "copy",
            f"_a.repeat({', '.join(texts)})",
            f"_a.expand({sizes})",
            "repeated elements are written to memory: expand is a view",
        )


def _changes(
    rewrite: Rewrite, match: Match, facts: Facts, file: str, node: ast.expr
) -> bool:
    """Whether a chain of products is cheaper in the other order; others are, of dims
    that they may have.
    """
    if rewrite.dims and ast.unparse(match.values["_d"]) not in rewrite.dims:
        return False
    if "_c" not in match.values or "arange" in rewrite.before:
        return True
    nodes: list[ast.expr | ast.Assign] = [node, *match.through.values()]
    lines = {n for one in nodes for n in range(one.lineno, (one.end_lineno or 0) + 1)}
    items = [
        item
        for number in lines
        for item in getattr(facts.lines.get((file, number)), "items", ())
        if item.name.startswith(_PRODUCTS)
    ]
    shapes = [[tuple(t.shape) for t in i.arguments[:2]] for i in items]
    is_left = rewrite.before.startswith("(")
    for first in shapes:
        for second in shapes:
            if len(first) < 2 or len(second) < 2 or min(map(len, first)) < 2:
                continue
            made = (*first[0][:-1], first[1][-1])
            a, b, c = (
                (first[0], first[1], second[1])
                if is_left
                else (second[0], first[0], first[1])
            )
            is_chain = second[0 if is_left else 1] == made
            if is_chain and _is_cheaper(a, b, c, is_left):
                return True
    return False


def _is_cheaper(
    a: tuple[int, ...], b: tuple[int, ...], c: tuple[int, ...], is_left: bool
) -> bool:
    columns = c[-1] if len(c) > 1 else 1
    left = a[-2] * a[-1] * b[-1] + a[-2] * b[-1] * columns
    right = b[-2] * b[-1] * columns + a[-2] * a[-1] * columns
    return 2 * right < left if is_left else 2 * left < right


def _finding(
    facts: Facts, file: str, group: Sequence[_Found], scope: Scope
) -> Iterator[Finding]:
    through = {n: d for one in group for n, d in one.match.through.items()}
    lines = {one.node.lineno for one in group}
    lines |= {definition.lineno for definition in through.values()}
    entries = [facts.lines[file, n] for n in lines if (file, n) in facts.lines]
    share = facts.share_of(sum(entry.total for entry in entries))
    if share < _SHARE:
        return
    # What only these expressions read is not computed any more.
    readers = {name: sum(name in f.match.through for f in group) for name in through}
    dropped = [n for n, count in readers.items() if count == scope.reads.get(n)]
    texts = {node: _text(tree) for node, tree in _replacements(group).items()}
    edits = list(texts.items())
    edits += [(through[name].value, "None") for name in dropped]
    yield Finding.at(
        file,
        max(entries, key=lambda entry: entry.total).line.number,
        kind=group[0].rewrite.kind,
        evidence=f"{share:.0%} of the time: {group[0].rewrite.why}",
        fix=", ".join(dict.fromkeys(texts.values())),
        share=share,
        patch=replaced_nodes(file, edits),
        keeps_output=group[0].rewrite.keeps_output,
    )
