"""Most of the time is float64 arithmetic, which may be unintended."""

from __future__ import annotations

import ast
import linecache
from collections import defaultdict
from collections.abc import Collection

from pellucid.diagnose.edits import tree_of
from pellucid.diagnose.findings import Finding, Patch
from pellucid.diagnose.verdict import Facts

_CHOSEN = r"\bset_default_dtype\("  # for the whole program: no accident
# Routines whose errors grow with the condition: float64 there is no accident either.
_SENSITIVE = ("cholesky", "solve", "lu_", "lstsq", "inv", "det")
_FLOATING = (
    "standard_normal",
    "normal",
    "randn",
    "rand",
    "random",
    "uniform",
    "linspace",
)
_PART = 0.1  # of the time in float64, that makes it their choice


def find(facts: Facts) -> list[Finding]:
    """The line that introduces float64."""
    wide = [item for item in facts.items if item.dtype == "float64"]
    share = facts.share_of(sum(item.total for item in wide))
    calls = sum(item.calls for item in wide)
    lines = [item.line for item in wide if item.line is not None]
    sensitive = [i.total for i in wide if any(n in i.name for n in _SENSITIVE)]
    is_chosen = sum(sensitive) >= _PART * sum(item.total for item in wide)
    if share < 0.2 or not lines or is_chosen:
        return []
    for file in dict.fromkeys(line.file for line in lines):
        patch = _patch(file, facts.settings.get("doubles", ()))
        if patch is None:
            continue
        number = patch.edits[0][0]
        return [
            Finding.at(
                file,
                number,
                kind="compute",
                evidence=f"{share:.0%} of the time is {calls} float64 computations",
                fix="float32: half the bytes, twice the lanes",
                share=share,
                patch=patch,
                is_option=any(True for _ in facts.matching(_CHOSEN)),
            )
        ]
    return []


def _patch(file: str, doubles: Collection[str]) -> Patch | None:
    """Everything in float32 that a file makes float64, or takes from float64 arrays:
    of ``doubles``, bound to these names, or whose expression shows it. Labels stay.
    """
    tree = tree_of(file)
    nodes = list(ast.walk(tree)) if tree else []
    bound = {
        id(node.value)
        for node in nodes
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in doubles
    }
    lines = [line.rstrip("\n").encode() for line in linecache.getlines(file)]
    # Of each line the names that are replaced: columns, which count bytes, and a text.
    names: dict[int, list[tuple[int, int, bytes]]] = defaultdict(list)
    for node in nodes:
        name = _wide_name(node)
        if name is not None:
            end = name.end_col_offset or 0
            by = b"float" if isinstance(node, ast.Call) else b"float32"
            names[name.end_lineno or 0].append((end - len(name.attr), end, by))
        is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if not is_call or not _is_from_numpy(node):  # type: ignore[arg-type]
            continue
        number, end = node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]
        is_wide = id(node) in bound or _is_floating(node.args[0], doubles)  # type: ignore[attr-defined]
        if is_wide and not lines[number - 1][end:].startswith(b"."):
            names[number].append((end, end, b".float()"))
    edits: dict[int, str] = {}
    for number, own in names.items():
        new = lines[number - 1]
        for begin, end, by in sorted(own, reverse=True):
            if new[begin:end] in (b"double", b"float64", b""):  # not so in f-strings
                new = new[:begin] + by + new[end:]
        if new != lines[number - 1]:
            edits[number] = new.decode()
    changes = tuple((number, number, (new,)) for number, new in sorted(edits.items()))
    return Patch(file, changes) if changes else None


def _wide_name(node: ast.AST) -> ast.Attribute | None:
    """The attribute that makes float64: of ``x.double()``, or ``torch.float64``."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        is_method = node.func.attr == "double" and not node.args
        return node.func if is_method else None
    if isinstance(node, ast.Attribute) and node.attr in ("float64", "double"):
        return node if ast.unparse(node.value) == "torch" else None
    return None


def _is_floating(array: ast.expr, doubles: Collection[str]) -> bool:
    """Whether an expression is a part of ``doubles``, a quotient, or drawn."""
    while isinstance(array, ast.Subscript):
        array = array.value
    if isinstance(array, ast.Call):
        return ast.unparse(array.func).rpartition(".")[2] in _FLOATING
    is_quotient = isinstance(array, ast.BinOp) and isinstance(array.op, ast.Div)
    return is_quotient or (isinstance(array, ast.Name) and array.id in doubles)


def _is_from_numpy(call: ast.Call) -> bool:
    """Whether a call takes an array's dtype: from_numpy, or tensor of what is neither
    a literal nor given a dtype.
    """
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    literal = ast.List | ast.ListComp | ast.Constant | ast.Tuple
    is_array = len(call.args) == 1 and not isinstance(call.args[0], literal)
    converts = name in ("tensor", "as_tensor") and is_array and not call.keywords
    return name == "from_numpy" or converts
