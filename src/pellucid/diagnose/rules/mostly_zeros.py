"""Dense products with a matrix of which almost all elements are zero: an adjacency or
incidence matrix, one-hot rows, which select rows of the other.

The recording shows large products; the values run says how many elements are not zero.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from pellucid.diagnose.findings import Finding, Replay
from pellucid.diagnose.instrument import Place
from pellucid.diagnose.patterns import TORCH_MODULES
from pellucid.diagnose.verdict import Facts, LineTime
from pellucid.profiler._timeline.facts import TensorFacts

_SHARE, _CALLS, _LARGE = 0.1, 3, 1 << 16
_NONZERO = 0.02  # of a matrix that is worth storing as a sparse one
_PRODUCTS = ("matmul", "mm", "addmm", "linear")
_LOOKED_UP = "look the rows up by their indices: F.embedding, nn.Embedding, table[ids]"
_SPARSE = "store {} sparse (to_sparse_csr()), or its places alone: index_add_, indexing"


def find(facts: Facts) -> list[Finding]:
    """Questions: products with large matrices that take a share of the time; their
    evidence is the sizes of the largest, which replay it.
    """
    questions = []
    for (file, number), entry in facts.lines.items():
        seconds = entry.total + facts.backward.get((file, number), 0.0)
        part, sizes = _sizes(entry) or (0.0, ())
        share = facts.share_of(seconds * part)
        if sizes and share >= _SHARE:
            text = " ".join(map(str, sizes))
            questions.append(Finding.question(file, number, "waste", share, text))
    return questions


def _sizes(entry: LineTime) -> tuple[float, tuple[int, int, int]] | None:
    """A line's largest product of a large matrix: its part of the line's time, and
    rows, columns and width: it is rows x columns, and the other one columns x width.
    """
    found = []
    for item in entry.items:
        tensors = [a for a in item.arguments if isinstance(a, TensorFacts)]
        pair = tensors[1:3] if item.name == "addmm" else tensors[:2]
        if item.name not in _PRODUCTS or item.calls < _CALLS or len(pair) < 2:
            continue
        left, right = (tensor.shape for tensor in pair)
        if len(left) == 2 and left[0] * left[1] >= _LARGE:
            ends = right[:1] if item.name == "linear" else right[1:]
            found.append((item.total, (left[0], left[1], (*ends, 1)[0])))
    every = sum(item.total for item in entry.items)
    return (max(found)[0] / max(every, 1e-9), max(found)[1]) if found else None


def answer(
    places: Sequence[Place], values: Mapping[str, Any], questions: Sequence[Finding]
) -> list[Finding]:
    """Products of which one operand is mostly zeros, and has the shape of the recorded
    one: one at each line. None whose operand needs a gradient, in all its places.
    """
    asked = {(q.file, q.line): q for q in questions if q.evidence}
    findings: dict[tuple[str, int], Finding] = {}
    for key, known in values["answers"].items():
        place = places[int(key)]
        question = asked.get((place.file, place.node.lineno))
        least = min(known["nonzero"], default=1.0)
        if question is None or least > _NONZERO:
            continue
        name = place.inputs[known["nonzero"].index(least)]
        sides = [k for k, each in enumerate(_operands(place.node)) if name in each]
        if len(sides) != 1:
            continue
        rows, columns, width = map(int, question.evidence.split())
        is_linear = not _is_matmul(place.node)
        shapes = (rows, columns), (width, columns) if is_linear else (columns, width)
        shape = shapes[sides[0]]
        number = known["nonzero"].index(least)
        if sorted(known["shapes"][number]) != sorted(shape):  # it may be transposed
            continue
        is_one_hot = known["one_hot"][number] and not sides[0]
        findings[question.file, question.line] = Finding.at(
            place.file,
            place.node.lineno,
            kind="waste",
            evidence=f"{question.share:.0%} of the time multiplies {name}, "
            f"{shape[0]}x{shape[1]}, of which {least:.2%} is not zero",
            fix=_LOOKED_UP if is_one_hot else _SPARSE.format(name),
            share=question.share,
            replay=_lookup(shapes, is_linear)
            if is_one_hot
            else _replay(shapes, sides[0], is_linear, least),
            is_certain=True,
        )
    return list(findings.values())


def _is_matmul(node: ast.expr) -> bool:
    """Whether a product's second operand has the columns of its result."""
    name = ast.unparse(node).partition("(")[0].rpartition(".")[2]
    return isinstance(node, ast.BinOp) or name in _PRODUCTS[:-1]


def _operands(node: ast.AST) -> list[set[str]]:
    """The expressions within each operand of a product; none of other nodes."""
    operands: list[ast.expr] = []
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        operands = [node.left, node.right]
    elif isinstance(node, ast.Call):
        owner, _, name = ast.unparse(node.func).rpartition(".")
        is_method = isinstance(node.func, ast.Attribute) and (
            owner.rpartition(".")[2] not in TORCH_MODULES
        )
        given = [node.func.value, *node.args] if is_method else node.args  # type: ignore[attr-defined]
        if name in _PRODUCTS:
            operands = given[1:3] if name == "addmm" else given[:2]
        elif len(node.args) == 1 and not node.keywords:
            operands = node.args  # of a module, whose weight is the other operand
    return [
        {ast.unparse(n) for n in ast.walk(operand) if isinstance(n, ast.expr)}
        for operand in operands
    ]


def _lookup(shapes: Any, is_linear: bool) -> Replay:
    """The product of one-hot rows with a table, and its rows by their indices."""
    (rows, columns), table = shapes
    setup = (
        f"ids = torch.randint({columns}, ({rows},))\n"
        f"hot = F.one_hot(ids, {columns}).float()\n"
        f"table = torch.randn({table[0]}, {table[1]})"
    )
    if is_linear:
        return Replay(setup, "F.linear(hot, table)", "table.t()[ids]")
    return Replay(setup, "hot @ table", "table[ids]")


def _replay(shapes: Any, side: int, is_linear: bool, nonzero: float) -> Replay:
    """The product with a matrix of zeros on one side, ``a``, and with ``s``, sparse."""
    zeros, other = shapes[side], shapes[1 - side]
    setup = (
        f"a = (torch.rand({zeros[0]}, {zeros[1]}) < {nonzero!r}).float()\n"
        f"s = a{'.t()' if side and not is_linear else ''}.to_sparse_csr()\n"
        f"b = torch.randn({other[0]}, {other[1]})"
    )
    if side:
        plain = "F.linear(b, a)" if is_linear else "b @ a"
        return Replay(setup, plain, "(s @ b.t()).t()")
    if is_linear:
        return Replay(setup, "F.linear(a, b)", "s @ b.t()")
    return Replay(setup, "a @ b", "s @ b")
