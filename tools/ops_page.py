"""The tables of docs/ops.md: a row for each declared op, from the declarations.

The name and meaning of an op come from ``declare/documentation.py``; its dtypes from
``tests/declarations/refusals.txt`` and ``tests/composites/dtypes.txt``, which tests
check; whether it has a gradient from the transposed Graph of a sample call. Called by
``tools/figures.py``, which writes documents.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tools.op_samples import calls as sample_calls
from tools.op_samples import with_dtype

import pellucid
from pellucid_compiler.declare.documentation import (
    ALIAS,
    DECLARED,
    IN_PLACE,
    Documentation,
    Overload,
)
from pellucid_compiler.declare.intrinsics import INTRINSICS
from pellucid_compiler.declare.op import REGISTRY
from pellucid_compiler.ir.dtypes import is_float

TESTS = Path(__file__).parents[1] / "tests"
REFUSALS = TESTS / "declarations" / "refusals.txt"
OF_COMPOSITES = TESTS / "composites" / "dtypes.txt"
# Groups of dtypes in the order of the column, and those that the table of refusals has.
GROUPS = {
    "floats": ("float32", "float64"),
    "halves": ("bfloat16", "float16"),
    "integers": ("int64", "int32", "uint8"),
    "bool": ("bool",),
}
MOST_COLUMNS = 110  # of a meaning: longer sentences are cut where a clause ends


def tables() -> str:
    """All tables, one for each file of declarations; files of one name share one."""
    documentation = Documentation()
    families: defaultdict[str, list[str]] = defaultdict(list)
    for name, overloads in documentation.overloads.items():
        declared = [o for o in overloads if o.origin == DECLARED]
        if declared:
            families[declared[0].family].append(row(name, declared, documentation))
    head = ["| op | in | kind | dtypes | gradient | |", "|---|---|---|---|---|---|"]
    return "\n\n".join(
        "\n".join([f"### {family.replace('_', ' ')}", *head, *families[family]])
        for family in sorted(families)
    )


def row(name: str, declared: list[Overload], documentation: Documentation) -> str:
    names = [name, *documentation.related(name, IN_PLACE)]
    names += documentation.related(name, ALIAS)
    first = declared[0]
    cells = (
        ", ".join(f"`{n}`" for n in names),
        ", ".join(places(name, documentation)),
        first.kind,
        dtypes(declared),
        gradient(declared),
        meaning(first.text),
    )
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def places(name: str, documentation: Documentation) -> Iterator[str]:
    """The modules of which it is a function, ``nn.functional`` if that has one of its
    name, and Tensor.
    """
    overloads = documentation.overloads[name]
    modules = {o.module or "torch" for o in overloads if o.is_function}
    if hasattr(pellucid.nn.functional, name.rpartition("::")[2]):
        modules.add("nn.functional")
    yield from sorted(modules)
    if any(o.is_method for o in overloads):
        yield "Tensor"
    elif not modules:
        yield "ops"


def meaning(text: str) -> str:
    """The first sentence of a docstring, in one line."""
    paragraph = " ".join(text.partition("\n\n")[0].split())
    sentence = re.split(r"(?<=[^.][.])(?<! al[.])\s", paragraph)[0]
    if len(sentence) > MOST_COLUMNS:
        sentence = re.split(r"[;:] ", sentence)[0]
    return sentence.rstrip(".").replace("``", "`")


# ------------------------------------------------------------------- dtypes, gradients


@cache
def calls(name: str) -> list[Any]:
    return sample_calls(name)


def _of_registry(overloads: list[Overload]) -> list[str]:
    return [o.schema.full_name for o in overloads if o.schema.full_name in REGISTRY]


@cache
def refused() -> dict[tuple[str, str], set[str]]:
    """The dtypes that each recorded call refuses, by op and number."""
    found: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for line in REFUSALS.read_text().splitlines():
        name, number, _, *given = line.split()
        found[name, number] |= set(given)
    return found


@cache
def of_composites() -> dict[str, list[str]]:
    """The dtypes that composites accept, by overload."""
    lines = (line.split() for line in OF_COMPOSITES.read_text().splitlines())
    return {name: taken for name, *taken in lines}


def dtypes(declared: list[Overload]) -> str:
    """The groups of which some overload accepts a dtype. Empty for calls whose dtypes
    are not free.
    """
    taken = {d for o in declared for d in of_composites().get(o.schema.full_name, ())}
    known = {dtype for group in GROUPS.values() for dtype in group}
    for name in _of_registry(declared):
        for number, (call, *_) in enumerate(calls(name)):
            if tuple(with_dtype(item, "float32") for item in call.key) != call.key:
                taken |= known - refused()[name, str(number)]
    groups = [group for group, held in GROUPS.items() if taken & set(held)]
    return "all" if len(groups) == len(GROUPS) else ", ".join(groups)


def gradient(declared: list[Overload]) -> str:
    """Whether it records a node; a composite's ops do."""
    first = declared[0]
    if first.kind == "composite":
        return "by its ops"
    intrinsics = (INTRINSICS.get(o.schema.full_name) for o in declared)
    if any(op is not None and op.gradient for op in intrinsics):
        return "yes"
    return "yes" if any(map(is_differentiable, _of_registry(declared))) else ""


def is_differentiable(name: str) -> bool:
    """Whether the Graph of a sample call has a transpose."""
    return REGISTRY[name].kind != "foreach" and any(
        _has_gradient(name, call) for call, *_ in calls(name)
    )


def _has_gradient(name: str, call: Any) -> bool:
    traced = REGISTRY[name].trace(call.key, call.env)
    graph = traced.nominal
    floats = [is_float(value.dtype) for value in graph.inputs]
    if not any(floats) or not any(is_float(v.dtype) for v in graph.outputs):
        return False
    try:
        traced.backward(floats)
    except NotImplementedError:  # in all of them at once: zeta has one by its second
        return any(_has_gradient_by(traced, k) for k, f in enumerate(floats) if f)
    return True


def _has_gradient_by(traced: Any, place: int) -> bool:
    needed = [k == place for k in range(len(traced.nominal.inputs))]
    try:
        traced.backward(needed)
    except NotImplementedError:
        return False
    return True
