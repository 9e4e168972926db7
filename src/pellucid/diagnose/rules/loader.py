"""The loader dominates: it loads one sample at a time, in the training process, or has
workers that cost more than the samples.
"""

from __future__ import annotations

import ast

from pellucid.diagnose.edits import (
    constant_of,
    enclosing,
    is_loop,
    is_repeated,
    replaced_nodes,
    tree_of,
)
from pellucid.diagnose.findings import Finding, Patch
from pellucid.diagnose.samples import hottest
from pellucid.diagnose.verdict import Facts
from pellucid.profiler._timeline.storages import LOADER

_HIDDEN = 0.5  # of the time, by two workers


def find(facts: Facts) -> list[Finding]:
    """The program's line inside of the loader that takes most of its time, or the line
    that makes the loader.
    """
    share = facts.data_share / max(1 - facts.shares.get("away", 0.0), 1e-9)
    found = _making(facts) if share >= 0.25 else None
    if found is None:
        return []
    file, call = found
    if is_remade(file, call.lineno):
        return [_remade(file, call.lineno, share)]
    if has_workers(facts):
        return _with_workers(file, call, share)
    patch = _with(file, call, "num_workers=2")
    place = hottest(facts.sampled_in_loader)
    is_inside = place is not None
    return [
        Finding.at(
            *(place or (file, call.lineno)),
            kind="data",
            evidence=f"{share:.0%} of the time is the loader's, "
            + ("most of it here, sample by sample" if is_inside else "here"),
            fix="do it once, before the epochs; or num_workers=2: load while the "
            "step runs"
            if is_inside
            else "num_workers=2: load while the step runs",
            share=share,
            part=_HIDDEN,
            patch=patch,
        )
    ]


def has_workers(facts: Facts) -> bool:
    """Whether the loader that takes most of the time has processes of its own."""
    found = _making(facts)
    given = _option(found[1], "num_workers") if found is not None else None
    if found is None or given is None:
        return False
    constant = constant_of(tree_of(found[0]), given)
    return constant is None or constant.value != 0


def _with_workers(file: str, call: ast.Call, share: float) -> list[Finding]:
    """The settings of which one may be better: guesses, and what they gain decides.
    Workers are kept only where the program reads the loader in a loop of epochs.
    """
    evidence = f"{share:.0%} of the time is the loader's, which waits for its workers"
    tried = [("num_workers=0", "num_workers=0: a sample costs less than a worker")]
    if _option(call, "persistent_workers") is None and _is_read_again(file, call):
        again = "persistent_workers=True: start them once, not in every epoch"
        tried.append(("persistent_workers=True", again))
    return [
        Finding.at(
            file,
            call.lineno,
            kind="data",
            evidence=evidence,
            fix=fix,
            share=share,
            patch=_with(file, call, setting),
            keeps_output=True,
            is_guess=True,
        )
        for setting, fix in tried
    ]


def _making(facts: Facts) -> tuple[str, ast.Call] | None:
    """The call that makes the loader which takes most of the time: by the name, or the
    call, that the loop over it names; else the first one.
    """
    ranges = facts.ranges(LOADER)
    busiest = sorted(ranges, key=lambda place: -ranges[place][0])
    calls = [(file, c) for file in facts.files for c in _calls(file)]
    for file, line in busiest:
        loops = [n for n in enclosing(file, line, is_loop) if isinstance(n, ast.For)]
        for loop in reversed(loops):
            read = {ast.unparse(n) for n in ast.walk(loop.iter)}
            for name, call in calls:
                if name == file and (
                    ast.unparse(call) in read or read & _names(name, call)
                ):
                    return name, call
    return calls[0] if calls else None


def _calls(file: str) -> list[ast.Call]:
    """The calls of a file that make loaders, in its order."""
    tree = tree_of(file)
    found = []
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Call):
            is_loader = ast.unparse(node.func).rpartition(".")[2] == "DataLoader"
            found += [node] if is_loader else []
    return sorted(found, key=lambda call: call.lineno)


def _names(file: str, call: ast.Call) -> set[str]:
    """What a program binds the loader of a call to."""
    nodes = ast.walk(tree_of(file) or call)
    own = [n for n in nodes if isinstance(n, ast.Assign) and n.value is call]
    return {ast.unparse(target) for node in own for target in node.targets}


def _is_read_again(file: str, call: ast.Call) -> bool:
    """Whether a loop over the loader is inside of another one."""
    names = _names(file, call)
    loops = [n for n in ast.walk(tree_of(file) or call) if isinstance(n, ast.For)]
    own = [n for n in loops if names & {ast.unparse(part) for part in ast.walk(n.iter)}]
    return any(len(enclosing(file, one.body[0].lineno, is_loop)) > 1 for one in own)


def _option(call: ast.Call, name: str) -> ast.expr | None:
    """A keyword's value; None of one that is not given."""
    return next((k.value for k in call.keywords if k.arg == name), None)


def _with(file: str, call: ast.Call, setting: str) -> Patch | None:
    """The call with a keyword, in place of the one that it has."""
    name = setting.partition("=")[0]
    for keyword in call.keywords:
        if keyword.arg == name:
            return replaced_nodes(file, [(keyword, setting)])
    given: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    last = given[-1]
    return replaced_nodes(file, [(last, f"{ast.unparse(last)}, {setting}")])


def is_remade(file: str, number: int) -> bool:
    """Whether a loop makes the loader again for each batch: ``next(iter(loader))``."""
    tree = tree_of(file)
    firsts = [
        node.lineno
        for node in (ast.walk(tree) if tree else ())
        if isinstance(node, ast.Call) and ast.unparse(node).startswith("next(iter(")
    ]
    is_first = any(is_repeated(file, line) for line in firsts)
    return is_first and is_repeated(file, number)


def _remade(file: str, number: int, share: float) -> Finding:
    return Finding.at(
        file,
        number,
        kind="data",
        evidence=f"{share:.0%} of the time is the loader's: it is made, and its "
        "workers are started, for every batch",
        fix="make the loader once and keep its iterator; begin again at its end",
        share=share,
    )
