"""Expressions that compute the same values from the same inputs again: an inverse of a
constant matrix in every step, a table in every layer, features of a frozen network in
every epoch.

The recording shows only which statements take a share of the time and make no graph:
`find` asks about them, and `answer` reads what a run of the instrumented program says.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from pellucid.diagnose.edits import (
    enclosing,
    indent_of,
    is_loop,
    is_repeated,
    replaced_nodes,
    statement_at,
    top_of,
    tree_of,
)
from pellucid.diagnose.findings import Finding, Patch
from pellucid.diagnose.instrument import Place
from pellucid.diagnose.verdict import Facts

_ASKED, _MOST = 0.03, 40  # share of the time from which a statement is asked about
_SHARE, _PART = 0.08, 0.02  # of a finding; of each of its expressions
_CALLS, _AGAIN, _ALL = 3, 0.5, 0.8
_GOES_ON = 0.5  # of the time that was watched: when the last result was seen again
# Seconds of a call that gives numbers: of the same few inputs, and of any.
_CHEAP, _COSTLY, _FEW = 3e-6, 5e-5, 0.01
# What a loop that times an expression does besides.
_OF_TIMING = {"append", "time", "perf_counter", "print", "item", "synchronize", "float"}


def find(facts: Facts) -> list[Finding]:
    """Questions: statements that run repeatedly, with their share of the time."""
    seconds: dict[tuple[str, int], float] = defaultdict(float)
    calls: dict[tuple[str, int], int] = defaultdict(int)
    stacks = facts.stacks
    once = stacks.names.index("first-time")
    own = stacks.seconds.sum(axis=1) - stacks.seconds[:, once]
    for chain, frames in enumerate(stacks.frames):
        if stacks.nodes[chain]:
            continue  # every step needs its own graph
        for place in {_place(*frame) for frame in frames}:
            seconds[place] += float(own[chain])
            calls[place] += int(stacks.calls[chain])
    shares = {p: facts.share_of(s) for p, s in seconds.items() if calls[p] >= _CALLS}
    for place, share in _sampled(facts).items():
        shares[place] = max(shares.get(place, 0.0), share)
    asked = [p for p in shares if p[1] and shares[p] >= _ASKED and _runs_again(*p)]
    asked.sort(key=lambda place: -shares[place])
    return [
        Finding.question(file, line, "waste", shares[file, line])
        for file, line in asked[:_MOST]
    ]


def _sampled(facts: Facts) -> dict[tuple[str, int], float]:
    """Of statements the part of the samples that are Python's own time in them."""
    own = (stack for stacks in facts.sampled.values() for stack in stacks)
    counts: Counter[tuple[str, int]] = Counter()
    for stack in own:
        counts.update({_place(*frame) for frame in stack})
    total = max(len(facts.samples.stacks), 1)
    return {p: count / total for p, count in counts.items() if count >= _CALLS}


def _place(file: str, line: int) -> tuple[str, int]:
    """The statement of a line; line 0 if it is part of none that can be asked about."""
    statement = statement_at(file, line)
    return file, statement.lineno if statement is not None else 0


def _runs_again(file: str, line: int) -> bool:
    tree = tree_of(file)
    functions = (
        (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)) if tree else ()
    )
    is_inside = any(f.lineno <= line <= (f.end_lineno or 0) for f in functions)
    return is_inside or is_repeated(file, line)


def answer(
    places: Sequence[Place], values: Mapping[str, Any], questions: Sequence[Finding]
) -> list[Finding]:
    """The findings: expressions most of whose calls computed a result again, none
    within another.
    """
    answers, seconds = values["answers"], float(values["seconds"])
    chosen: dict[int, Mapping[str, Any]] = {}
    for key, known in answers.items():
        took = known["seconds"] + known["row_seconds"]
        if known["calls"] < _CALLS or took < _PART * seconds:
            continue
        if known["has_numbers"] and not _is_costly(known):
            continue
        if known["last"] < _GOES_ON:
            continue  # before the work began: to warm up
        again = known["again"] / known["calls"]
        rows = known["rows_again"] / max(known["rows"], 1)
        if again >= _AGAIN or (rows >= _AGAIN and again + rows >= _AGAIN):
            chosen[int(key)] = known
    outermost = [
        k for k, known in chosen.items() if not set(known["outer"]) & set(chosen)
    ]
    timed = _timed(places, answers, {k: chosen[k] for k in outermost})
    outermost = [k for k in outermost if k not in timed]
    groups: dict[tuple[str, str | None, bool], list[int]] = defaultdict(list)
    for number in outermost:
        place, known = places[number], chosen[number]
        groups[place.file, place.function, known["rows_again"] > 0].append(number)
    found = (_finding(places, chosen, group, seconds) for group in groups.values())
    return [finding for finding in found if finding is not None]


def _is_costly(known: Mapping[str, Any]) -> bool:
    """Of an expression whose results are numbers or texts, which are equal by chance
    and cheap: whether the same inputs always gave the same, and it is worth keeping.
    """
    each, inputs = known["total"] / known["calls"], known["inputs"]
    is_same = each >= _CHEAP and inputs <= _FEW * known["calls"]
    return bool(known["sources"] == inputs and (is_same or each >= _COSTLY))


def _timed(
    places: Sequence[Place],
    answers: Mapping[str, Mapping[str, Any]],
    chosen: Mapping[int, Mapping[str, Any]],
) -> set[int]:
    """Expressions that a loop repeats to time them, or that are all that a call in such
    a loop does.
    """
    found = {k for k in chosen if _is_timed(places[k])}
    for key, known in answers.items():
        inner = [k for k in chosen if int(key) in chosen[k]["outer"]]
        seconds = sum(chosen[k]["seconds"] for k in inner)
        is_all = known["inputs"] == 1 and seconds >= _ALL * known["total"]
        if is_all and _is_timed(places[int(key)]):
            found |= set(inner)
    return found


def _is_timed(place: Place) -> bool:
    """Whether a loop does nothing else but repeat the expression, to time it."""
    loops = enclosing(place.file, place.node.lineno, is_loop)
    functions = enclosing(
        place.file, place.node.lineno, lambda n: isinstance(n, ast.FunctionDef)
    )
    if not loops or any(f.lineno > loops[-1].lineno for f in functions):
        return False
    own = {ast.dump(node) for node in ast.walk(place.node)}
    for node in (n for s in loops[-1].body for n in ast.walk(s)):  # type: ignore[attr-defined]
        if isinstance(node, ast.Call | ast.BinOp) and ast.dump(node) not in own:
            names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
            attributes = {
                n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)
            }
            if not (names | attributes) & _OF_TIMING:
                return False
    return True


def _finding(
    places: Sequence[Place],
    answers: Mapping[int, Mapping[str, Any]],
    group: Sequence[int],
    seconds: float,
) -> Finding | None:
    """Of expressions of one function."""

    def took(number: int) -> float:
        return float(answers[number]["seconds"] + answers[number]["row_seconds"])

    share = min(sum(map(took, group)) / max(seconds, 1e-9), 1.0)
    if share < _SHARE:
        return None
    first = max(group, key=took)
    place, known = places[first], answers[first]
    text = place.text if len(place.text) <= 50 else f"{place.text[:47]}..."
    if known["rows_again"] > known["again"]:
        part = known["rows_again"] / known["rows"]
        evidence = (
            f"{share:.0%} of the time: {text} of samples that it was computed of "
            f"before ({part:.0%} of {known['rows']} rows); nothing in it changes"
        )
        fix = "compute it once for all samples, before the epochs, and load the results"
    else:
        evidence = (
            f"{share:.0%} of the time: {known['again']} of {known['calls']} calls of "
            f"{text} have inputs and results as before, bit for bit"
        )
        fix = "compute it once: before the loop, in __init__, or as a buffer"
    return Finding.at(
        place.file,
        place.node.lineno,
        kind="waste",
        evidence=evidence,
        fix=fix,
        share=share,
        patch=_patch(places, answers, group),
        keeps_output=True,
        is_certain=True,
    )


def _patch(
    places: Sequence[Place],
    answers: Mapping[int, Mapping[str, Any]],
    group: Sequence[int],
) -> Patch | None:
    """Each expression's first result is kept, for each of the objects that it reads;
    one that a comprehension computes for each item is computed before.
    """
    before = _before_items(places[group[0]]) if len(group) == 1 else None
    if before is not None:
        return before
    known = [answers[number] for number in group]
    if any(one["sources"] != 1 and one["sources"] != one["objects"] for one in known):
        return None
    file = places[group[0]].file
    edits: list[tuple[ast.expr, str]] = []
    for number in group:
        place = places[number]
        names = place.inputs if answers[number]["sources"] > 1 else ()
        parts = ", ".join([str(number), *(f"id({name})" for name in names)])
        key = f"({parts})" if names else parts
        text = (
            f"_kept[{key}] if {key} in _kept else _kept.setdefault({key}, {place.text})"
        )
        edits.append((place.node, f"({text})"))
    patch = replaced_nodes(file, edits)
    if patch is None:
        return None
    top = top_of(file, min(places[number].node.lineno for number in group))
    return Patch(file, (*patch.edits, (top, top - 1, ("_kept = {}",))))


def _before_items(place: Place) -> Patch | None:
    """An expression of a comprehension that reads nothing of its items, assigned before
    the statement; None of others.
    """
    statement = statement_at(place.file, place.node.lineno)
    kinds = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
    around = [
        node
        for node in (ast.walk(statement) if statement is not None else ())
        if isinstance(node, kinds) and _is_within(place.node, node)
    ]
    if statement is None or len(around) != 1 or isinstance(statement, ast.Return):
        return None
    (whole,) = around
    targets = (n for part in whole.generators for n in ast.walk(part.target))
    bound = {n.id for n in targets if isinstance(n, ast.Name)}
    read = {n.id for n in ast.walk(place.node) if isinstance(n, ast.Name)}
    if bound & read or _is_within(place.node, whole.generators[0].iter):
        return None
    patch = replaced_nodes(place.file, [(place.node, "_kept")])
    if patch is None:
        return None
    line = statement.lineno
    text = f"{indent_of(place.file, line)}_kept = {place.text}"
    return Patch(place.file, (*patch.edits, (line, line - 1, (text,))))


def _is_within(inner: ast.expr, outer: ast.expr) -> bool:
    """Whether a node's source is a part of another's."""
    first = (outer.lineno, outer.col_offset)
    last = (outer.end_lineno or 0, outer.end_col_offset or 0)
    begin = (inner.lineno, inner.col_offset)
    end = (inner.end_lineno or 0, inner.end_col_offset or 0)
    return first <= begin and end <= last
