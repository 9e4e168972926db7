"""A loop whose time is Python's own: parsing, lists of numbers, making objects.

Only where the source shows that a better form exists: the same work in every round, an
array computed item by item, a search in a list.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pellucid.diagnose.edits import enclosing, statement_at, tree_of
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.repeating import changed_names, is_same_work
from pellucid.diagnose.samples import Place, hottest
from pellucid.diagnose.verdict import Facts
from pellucid.profiler._timeline.columns import grouped
from pellucid.profiler._timeline.log import Kind
from pellucid.profiler._timeline.storages import LOADER

_SHARE, _COUNT = 0.25, 3
# Nanoseconds without a call: more than the calls' own cost. Most gaps before equal
# calls are as long; those in which other programs had the core are few.
_LONG, _MOST = 2e5, 0.6
_OTHERS = "torch.save", "torch.load", "Tensor.__repr__", LOADER
_LOOPS = ast.ListComp | ast.GeneratorExp | ast.DictComp | ast.SetComp
_WORK = _LOOPS | ast.For | ast.Call
_ARRAYS = "np.", "numpy.", "torch."
_ONCE = "do it once, before the loop, and keep tensors; or in workers of a DataLoader"
_SEARCHED = "look it up in a dict or a set: a list is searched from its beginning"
_BY_ITEMS = "compute with the whole array or tensor, not item by item; or do it once"


def find(facts: Facts) -> list[Finding]:
    """The statements between two lines, where Python regularly takes long."""
    if facts.shares.get("wait", 0.0) > facts.shares.get("python", 0.0):
        return []  # asleep: ``sleeps.py``
    seconds: dict[tuple[str, int], float] = defaultdict(float)
    counts: dict[tuple[str, int], int] = defaultdict(int)
    frames: dict[tuple[str, int], Counter[tuple[Place, ...]]] = defaultdict(Counter)
    for gap in _gaps(facts):
        stacks = [stack for row in gap.rows for stack in facts.sampled.get(row, ())]
        place = hottest(stacks)
        if place is None:
            place = gap.file, _between(gap.file, gap.previous, gap.following)
        seconds[place] += sum(gap.lengths) / 1e9
        counts[place] += len(gap.lengths)
        frames[place].update(_frames_of(facts, gap, place, stacks))
    findings = []
    for (file, number), spent in seconds.items():
        share = facts.share_of(spent)
        ((stack, _),) = frames[file, number].most_common(1)
        fix = _fix(file, number, stack) if share >= _SHARE else None
        if fix is not None:
            findings.append(
                Finding.at(
                    file,
                    number,
                    kind="overhead",
                    evidence=f"{share:.0%} of the time is Python's own, here and in "
                    f"the next lines, {counts[file, number]} times",
                    fix=fix,
                    share=share,
                )
            )
    return findings


@dataclass(frozen=True)
class _Gap:
    """What Python did between calls at two lines of a file: the rows of the calls
    behind, and nanoseconds of each. ``previous`` is 0 if that is in another file.
    """

    file: str
    previous: int
    following: int
    rows: list[int]
    lengths: list[float]


def _frames_of(
    facts: Facts, gap: _Gap, place: Place, stacks: Sequence[tuple[Place, ...]]
) -> Sequence[tuple[Place, ...]]:
    """The frames around a place of a gap, the innermost first: those of the samples,
    else of the call behind.
    """
    sampled = [stack for stack in stacks if place in stack]
    if sampled:
        return [stack[stack.index(place) :] for stack in sampled]
    behind = facts.log.frames(int(facts.log.columns.line[gap.rows[0]]))
    own = tuple((f.file, f.number) for f in behind if f.is_user)
    here, scopes = _scopes(*place)[:1], [_scopes(*one)[:1] for one in own]
    outer = scopes.index(here) + 1 if here in scopes else 0
    return [(place, *own[outer:])]


def _fix(file: str, number: int, frames: Sequence[Place]) -> str | None:
    """Of a search in a sequence, of a comprehension over an array, or of the same work
    in every round; None of work that may be as short as it can be.
    """
    statement = statement_at(file, number)
    nodes = list(ast.walk(statement)) if statement is not None else []
    if any(isinstance(node, ast.Attribute) and node.attr == "index" for node in nodes):
        return _SEARCHED
    if any(_is_by_items(node, changed_names(tree_of(file))) for node in nodes):
        return _BY_ITEMS
    if not is_same_work(frames):
        return None
    return _BY_ITEMS if any(isinstance(node, _LOOPS) for node in nodes) else _ONCE


def _is_by_items(node: ast.AST, changed: set[str]) -> bool:
    """Whether a node makes an array or a tensor of numbers that a comprehension
    computes, of what the program does not add to meanwhile.
    """
    if not (isinstance(node, ast.Call) and len(node.args) == 1):
        return False
    made = node.args[0]
    if not isinstance(made, ast.ListComp) or not isinstance(made.elt, ast.BinOp):
        return False
    names = {n.id for g in made.generators for n in ast.walk(g.iter) if _is_name(n)}  # type: ignore[attr-defined]
    return ast.unparse(node.func).startswith(_ARRAYS) and not names & changed


def _is_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Name)


def _gaps(facts: Facts) -> Iterator[_Gap]:
    """Long gaps between the same calls, in loops and functions."""
    columns, pieces = facts.log.columns, facts.pieces
    is_gap = pieces.is_python & (pieces.rows >= 0)
    rows, lengths = pieces.rows[is_gap], pieces.nanoseconds[is_gap]
    is_other = np.zeros(len(columns), bool)
    for name in _OTHERS:
        is_other |= columns.is_named(Kind.RANGE, name)
    is_own = columns.nearest(rows, is_other) < 0
    rows, lengths = rows[is_own], lengths[is_own]
    calls = columns.rows_of(Kind.CALL)
    calls = calls[columns.parent[calls] < 0]
    before = calls[np.maximum(np.searchsorted(calls, rows) - 1, 0)]
    keys = columns.line[before], columns.line[rows], columns.name[rows]
    for own in grouped(*keys)[1]:
        behind, gaps = rows[own].tolist(), lengths[own].tolist()
        if len(gaps) < _COUNT or np.quantile(gaps, 1 - _MOST) < _LONG:
            continue
        first, second = before[own[0]], rows[own[0]]
        previous, line = (
            facts.log.user_line(int(columns.line[row])) for row in (first, second)
        )
        if line is None or not _scopes(line.file, line.number):
            continue
        is_same = previous is not None and previous.file == line.file
        number = previous.number if previous is not None and is_same else 0
        yield _Gap(line.file, number, line.number, behind, gaps)


def _scopes(file: str, number: int) -> list[ast.stmt]:
    """The functions and loops around a line, the innermost last."""
    kinds = ast.For | ast.While | ast.FunctionDef
    return enclosing(file, number, lambda node: isinstance(node, kinds))


def _between(file: str, previous: int, following: int) -> int:
    """The line with the most work of Python's between two lines of a loop: of its
    statements, or of what it goes over.
    """
    loop = _scopes(file, following)[-1]
    heads = [loop.iter] if isinstance(loop, ast.For) else []
    statements = [s for s in loop.body if s.lineno < following]  # type: ignore[attr-defined]
    if loop.lineno <= previous < following:
        heads, statements = [], [s for s in statements if s.lineno > previous]
    inner = [n for s in statements for n in _before(s, following)]
    nodes = [*heads, *inner]
    if not any(_work(file, node) for node in nodes):
        nodes = [n for s in loop.body for n in _before(s, following)]  # type: ignore[attr-defined]
    best = max(nodes, key=lambda node: _work(file, node), default=None)
    if best is None:
        return following
    functions = [f for f in _called(file, best) if not _is_generator(f)]
    bodies = [n for f in functions for s in f.body for n in _before(s, 0)]
    within = max(bodies, key=lambda node: _work(file, node), default=None)
    is_within = within is not None and _work(file, within) > _own_work(best)
    return within.lineno if is_within else best.lineno  # type: ignore[union-attr,attr-defined]


def _before(statement: ast.stmt, following: int) -> list[ast.stmt]:
    """A statement; of one around a line, or of a loop, those of its block."""
    block = getattr(statement, "body", None)
    is_around = statement.lineno < following <= (statement.end_lineno or 0)
    if not block or not (is_around or isinstance(statement, ast.For | ast.While)):
        return [statement]
    own = [s for s in block if not is_around or s.lineno < following]
    return [n for s in own for n in _before(s, following)]


def _work(file: str, node: ast.AST) -> int:
    """How much a node does in Python: loops, comprehensions and calls, with those of
    the functions that it calls.
    """
    total = _own_work(node)
    for function in _called(file, node):
        total += sum(3 for n in ast.walk(function) if isinstance(n, _WORK))
    return total


def _own_work(node: ast.AST) -> int:
    kinds = (inner for inner in ast.walk(node) if isinstance(inner, _WORK))
    return sum(1 if isinstance(inner, ast.Call) else 3 for inner in kinds)


def _called(file: str, node: ast.AST) -> Iterator[ast.FunctionDef]:
    """The functions and methods of the file that a node calls, by their only name."""
    tree = tree_of(file)
    functions = [n for n in (ast.walk(tree) if tree else ()) if _is_function(n)]
    for call in ast.walk(node):
        if isinstance(call, ast.Call):
            name = ast.unparse(call.func).rpartition(".")[2]
            own = [f for f in functions if f.name == name]  # type: ignore[attr-defined]
            yield from own if len(own) == 1 else []  # type: ignore[misc]


def _is_generator(function: ast.FunctionDef) -> bool:
    return any(isinstance(n, ast.Yield | ast.YieldFrom) for n in ast.walk(function))


def _is_function(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef)
