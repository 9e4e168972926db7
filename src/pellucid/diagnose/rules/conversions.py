"""Tensors made from Python's lists in every sample or step, element by element."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pellucid.diagnose.edits import is_repeated, replaced_nodes, top_of, tree_of
from pellucid.diagnose.findings import Finding, Patch
from pellucid.diagnose.instrument import Place
from pellucid.diagnose.verdict import Facts

_ASKED, _SHARE, _CALLS = 0.2, 0.15, 20
_CONVERSIONS = (
    *("torch.tensor", "torch.as_tensor", "torch.FloatTensor", "torch.LongTensor"),
    *("np.array", "np.asarray", "numpy.array", "numpy.asarray"),
)
_SAMPLES = ("__getitem__", "__iter__", "collate", "collate_fn")


def find(facts: Facts) -> list[Finding]:
    """Questions: conversions in functions and loops, if the loader or Python takes a
    share of the time.
    """
    share = facts.own_share("data", "python")
    if share < _ASKED:
        return []
    return [
        Finding.question(file, line, "data", share)
        for file in facts.files
        for line in _lines(file)
    ]


def _lines(file: str) -> Iterator[int]:
    tree = tree_of(file)
    functions = [n for n in (ast.walk(tree) if tree else ()) if _gives_samples(n)]
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.stmt) and not hasattr(node, "body"):
            calls = [n for n in ast.walk(node) if isinstance(n, ast.Call)]
            is_inside = any(
                f.lineno <= node.lineno <= (f.end_lineno or 0)  # type: ignore[attr-defined]
                for f in functions
            )
            if any(map(_converts, calls)) and (
                is_inside or is_repeated(file, node.lineno)
            ):
                yield node.lineno


def _gives_samples(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name in _SAMPLES


def _converts(node: ast.AST) -> bool:
    """Whether a call converts something other than a literal."""
    return (
        isinstance(node, ast.Call)
        and ast.unparse(node.func) in _CONVERSIONS
        and bool(node.args)
        and not isinstance(node.args[0], ast.Constant)
    )


def answer(
    places: Sequence[Place], values: Mapping[str, Any], questions: Sequence[Finding]
) -> list[Finding]:
    """Conversions of lists, by function, that take a share of the time."""
    groups: dict[tuple[str, str | None], list[int]] = defaultdict(list)
    totals: dict[int, float] = {}
    for key, known in values["answers"].items():
        place = places[int(key)]
        if known["calls"] < _CALLS or "list" not in known["kinds"]:
            continue
        if _converts(place.node):
            totals[int(key)] = known["total"] / max(values["seconds"], 1e-9)
            groups[place.file, place.function].append(int(key))
    findings = []
    for (file, _), group in groups.items():
        share = min(sum(totals[number] for number in group), 1.0)
        if share < _SHARE:
            continue
        place = places[max(group, key=lambda number: totals[number])]
        calls = values["answers"][str(places.index(place))]["calls"]
        findings.append(
            Finding.at(
                file,
                place.node.lineno,
                kind="data",
                evidence=f"{share:.0%} of the time converts lists to tensors here, "
                f"{calls} times, a number at a time",
                fix="convert everything once, before, and take slices of the tensor",
                share=share,
                patch=_patch(file, [places[number] for number in group]),
                keeps_output=True,
                is_certain=True,
            )
        )
    return findings


def _patch(file: str, group: Sequence[Place]) -> Patch | None:
    """The container is converted once, and its parts are those of the tensor."""
    edits: list[tuple[ast.expr, str]] = []
    for place in group:
        assert isinstance(place.node, ast.Call)
        part = whole = place.node.args[0]
        while isinstance(whole, ast.Subscript):
            whole = whole.value
        if part is whole or not isinstance(whole, ast.Name | ast.Attribute):
            return None
        name = ast.unparse(whole)
        rest = ast.unparse(part).removeprefix(name)
        made = ast.unparse(place.node).replace(ast.unparse(part), name, 1)
        key = f"id({name})"
        kept = f"_kept.setdefault({key}, {made})"
        new = f"(_kept[{key}] if {key} in _kept else {kept})"
        edits.append((place.node, new + rest))
    patch = replaced_nodes(file, edits)
    if patch is None:
        return None
    top = top_of(file, min(place.node.lineno for place in group))
    return Patch(file, (*patch.edits, (top, top - 1, ("_kept = {}",))))
