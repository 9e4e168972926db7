"""A Python loop over elements, rows, heads: calls that cost more than their work."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from pellucid.diagnose.edits import called_names, tree_of
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.independence import accumulates_items, is_independent
from pellucid.diagnose.rules import parameter_loops
from pellucid.diagnose.verdict import Facts
from pellucid.profiler._timeline.log import Kind
from pellucid.profiler._timeline.storages import LOADER

_MANY = 300  # calls in a loop
_ROUNDS = 4  # of a run of the loop, from which a batch dimension is worth it
_SHARE, _OVERHEAD = 0.1, 0.5
_SHORT = 8e-6  # seconds a call, on average, that a batch would share
_LOOPS = (
    ast.For | ast.While | ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
)
# What trains or formats is a loop of another kind, however short its calls.
_DRIVERS = ("backward", "grad", "step", "zero_grad")
_OTHERS = (
    "torch.save",
    "torch.load",
    "Tensor.__repr__",
    LOADER,
)  # ranges that other rules report


def find(facts: Facts) -> list[Finding]:
    """Innermost loops whose iterations do not depend on each other."""
    others = {place for name in _OTHERS for place in facts.ranges(name)}
    named = {(one.file, one.line) for one in parameter_loops.find(facts)}
    findings = []
    for file in facts.files:
        tree = tree_of(file)
        found = [
            (loop, facts.stacks.chains_within(file, loop))
            for loop in (ast.walk(tree) if tree else ())
            if isinstance(loop, _LOOPS)
            and not _lines(file, loop) & others
            and not called_names(file, loop) & set(_DRIVERS)
            and not parameter_loops.updates_parameters(loop)
            and _computes(loop)
            and is_independent(loop, tree)
        ]
        large = [
            (loop, c)
            for loop, c in found
            if _is_large(facts, c)
            and not facts.stacks.passes(file, loop, named)
            and facts.share_of(_repeated(facts, c)) >= _SHARE
        ]
        for loop, chains in large:
            inner = [(other, c) for other, c in large if other is not loop]
            if any(_is_most(facts, file, (loop, chains), one) for one in inner):
                continue
            within = {c for _, own in inner if set(own) < set(chains) for c in own}
            if not within or _is_large(facts, [c for c in chains if c not in within]):
                findings.append(_finding(facts, file, loop, chains))
    return findings


def _computes(loop: ast.AST) -> bool:
    """Whether the iterations call or compute anything, not only pick items."""
    if isinstance(loop, ast.For | ast.While):
        return True
    kept = [loop.key, loop.value] if isinstance(loop, ast.DictComp) else [loop.elt]  # type: ignore[attr-defined]
    kinds = ast.Call | ast.BinOp | ast.UnaryOp | ast.Subscript | ast.Compare
    return any(isinstance(node, kinds) for part in kept for node in ast.walk(part))


def _is_large(facts: Facts, chains: Sequence[int]) -> bool:
    inside = facts.stacks.of(chains)
    own = inside.total * (1 - facts.shares.get("away", 0.0))
    is_short = own < _SHORT * inside.calls
    is_small = is_short or inside.part("overhead", "python", "data") >= _OVERHEAD
    return is_small and inside.calls >= _MANY and facts.share_of(inside.total) >= _SHARE


def _repeated(facts: Facts, chains: Sequence[int]) -> float:
    """Seconds of a loop's lines, without the calls that a run of it makes once or a few
    times, and Python's time before them: these are not the loop's. A run ends where the
    program calls anything else.
    """
    columns, pieces = facts.log.columns, facts.pieces
    calls, is_call = columns.rows_of(Kind.CALL), columns.kind == Kind.CALL
    calls = calls[columns.nearest(columns.parent[calls], is_call) < 0]
    own_lines = facts.stacks.chains[list(chains)]
    inside = np.isin(columns.line[calls], own_lines)
    runs = int(inside[:1].sum() + np.count_nonzero(inside[1:] & ~inside[:-1]))
    own = calls[inside]
    pairs = np.stack([columns.line[own], columns.name[own]])
    _, places, counts = np.unique(
        pairs, axis=1, return_inverse=True, return_counts=True
    )
    is_other = np.zeros(len(columns), bool)
    is_other[own[counts[places.reshape(-1)] < _ROUNDS * runs]] = True
    is_other |= columns.kind == Kind.PREPARE
    rows = pieces.rows
    is_own = np.isin(columns.line[rows], own_lines) & (rows >= 0)
    is_own &= columns.nearest(rows, is_other) < 0
    return float(pieces.nanoseconds[is_own].sum()) / 1e9


def _lines(file: str, loop: ast.AST) -> set[tuple[str, int]]:
    first, last = loop.lineno, loop.end_lineno  # type: ignore[attr-defined]
    return {(file, number) for number in range(first, last + 1)}


def _is_most(
    facts: Facts,
    file: str,
    outer: tuple[ast.AST, Sequence[int]],
    inner: tuple[ast.AST, Sequence[int]],
) -> bool:
    """Whether a loop spends most of its time in another one that it runs."""
    (loop, chains), (other, own) = outer, inner
    if set(own) == set(chains):
        return _depth(facts, file, own, other) < _depth(facts, file, own, loop)
    if not set(own) < set(chains):
        return False
    return 2 * facts.stacks.of(own).total > facts.stacks.of(chains).total


def _depth(facts: Facts, file: str, chains: Sequence[int], loop: ast.AST) -> int:
    """How many frames are inside of a loop's own, in the first of some chains."""
    lines = _lines(file, loop)
    frames = facts.stacks.frames[chains[0]]
    return next(k for k, frame in enumerate(frames) if frame in lines)


def _finding(facts: Facts, file: str, loop: ast.AST, chains: Sequence[int]) -> Finding:
    inside = facts.stacks.of(chains)
    places = _lines(file, loop) & facts.lines.keys()
    behind = sum(facts.backward.get(place, 0.0) for place in places)
    share = facts.share_of(inside.total + behind)
    return Finding.at(
        file,
        _heaviest(facts, file, loop, chains),
        kind="overhead",
        evidence=f"{share:.0%} of the time: {inside.calls} small calls, and no "
        "iteration needs another's result",
        fix=_fix(loop),
        share=share,
    )


def _heaviest(facts: Facts, file: str, loop: ast.AST, chains: Sequence[int]) -> int:
    """The line of the loop that takes longest, with what it calls."""
    lines, seconds = _lines(file, loop), facts.stacks.seconds.sum(axis=1)
    times: dict[int, float] = defaultdict(float)
    for chain in chains:
        inside = [n for name, n in facts.stacks.frames[chain] if (name, n) in lines]
        times[inside[-1]] += float(seconds[chain])
    return max(times, key=lambda line: times[line])


def _fix(loop: ast.AST) -> str:
    if accumulates_items(loop):
        return "add all items at once: index_add_, bincount, scatter_reduce"
    if _gathers(loop):
        return "keep all items in one tensor, and index it with a tensor of places"
    return "compute whole tensors at once: a batch dimension instead of the loop"


def _gathers(loop: ast.AST) -> bool:
    """Whether a loop only collects items."""
    if isinstance(loop, ast.ListComp):
        return isinstance(loop.elt, ast.Subscript)
    calls = [s.value for s in getattr(loop, "body", ()) if isinstance(s, ast.Expr)]
    given = [c.args for c in calls if isinstance(c, ast.Call) and _adds(c)]
    is_all = len(given) == len(getattr(loop, "body", (None,)))
    return is_all and all(isinstance(a, ast.Subscript) for args in given for a in args)


def _adds(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "append"
