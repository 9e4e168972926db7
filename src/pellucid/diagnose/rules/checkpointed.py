"""Forward passes that run again in backward, to save memory that is not short."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from importlib import import_module
from inspect import signature

from pellucid.diagnose.edits import replaced_nodes, statement_at, tree_of
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts

_SHARE, _SHORT = 0.1, 0.05  # of the time; of this machine's memory


def find(facts: Facts) -> list[Finding]:
    """Calls of ``checkpoint``, where lines of forward passes take a share of the time
    within ``backward()``.
    """
    stacks = facts.stacks
    forward = {f[0] for f in stacks.frames if f and not any(map(_is_backward, f))}
    again = [
        chain
        for chain, frames in enumerate(stacks.frames)
        if frames and frames[0] in forward and any(map(_is_backward, frames[1:]))
    ]
    share = facts.share_of(stacks.of(again).total)
    peak = int(facts.settings["memory"]["peak_allocated_bytes"])
    if share < _SHARE or peak > _SHORT * _memory():
        return []
    found = [
        (file, call, text)
        for file in facts.files
        for call, text in _checkpoints(tree_of(file))
    ]
    taken = [
        stacks.of(stacks.chains_within(file, call)).total for file, call, _ in found
    ]
    whole = sum(taken) or 1.0
    return [
        Finding.at(
            file,
            call.lineno,
            kind="waste",
            evidence=f"{share * own / whole:.0%} of the time runs forward passes again "
            f"in backward; the program needs {peak >> 20} of {_memory() >> 20} MiB",
            fix=f"no checkpoint: {text}",
            share=share * own / whole,
            patch=replaced_nodes(file, [(call, text)]),
        )
        for (file, call, text), own in zip(found, taken, strict=True)
        if own
    ]


def _is_backward(place: tuple[str, int]) -> bool:
    statement = statement_at(*place)
    return statement is not None and any(
        isinstance(node, ast.Attribute) and node.attr == "backward"
        for node in ast.walk(statement)
    )


def _memory() -> int:
    """The bytes of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _checkpoints(tree: ast.Module | None) -> Iterator[tuple[ast.Call, str]]:
    """Calls of ``torch.utils.checkpoint.checkpoint(f, x)``, and ``f(x)``."""
    names, options = set(_bound_names(tree)), _options() if tree else ()
    for node in ast.walk(tree) if tree else ():
        if not isinstance(node, ast.Call) or ast.unparse(node.func) not in names:
            continue
        named = [k for k in node.keywords if k.arg not in options]
        is_listed = all(k.arg is not None for k in named)
        if is_listed and node.args and not isinstance(node.args[0], ast.Starred):
            yield node, ast.unparse(ast.Call(node.args[0], node.args[1:], named))


def _options() -> set[str]:
    """The options of ``checkpoint``, which are not passed on."""
    checkpoint = import_module("pellucid.utils.checkpoint").checkpoint
    options = signature(checkpoint).parameters.values()
    return {option.name for option in options if option.kind is option.KEYWORD_ONLY}


def _bound_names(tree: ast.Module | None) -> Iterator[str]:
    """What a file calls ``torch.utils.checkpoint.checkpoint``."""
    for node in ast.walk(tree) if tree else ():
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        module = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
        for alias in node.names:
            is_first = not module and alias.asname is None  # ``import torch.nn``
            name = alias.name.partition(".")[0] if is_first else alias.name
            for package in ("torch", "pellucid"):
                whole = f"{package}.utils.checkpoint.checkpoint."
                rest = whole.removeprefix(f"{module}{name}.")
                if rest != whole:
                    yield f"{alias.asname or name}.{rest}".rstrip(".")
