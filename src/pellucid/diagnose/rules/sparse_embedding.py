"""Embeddings of which a step reads few rows, with gradients of the whole table."""

from __future__ import annotations

import ast
import re
from math import prod

from pellucid.diagnose.edits import replaced_nodes, tree_of
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.recording import Computation
from pellucid.diagnose.verdict import Facts
from pellucid.profiler._timeline.facts import TensorFacts

_SHARE, _LARGER = 0.1, 8  # share of the time; table's rows over those read


def find(facts: Facts) -> list[Finding]:
    """The lines that make embeddings, with ``sparse=True`` in all of them."""
    found = [i for i in facts.items if i.name == "embedding_dense_backward"]
    large = [i for i in found if _rows(i) >= _LARGER * _read(i)]
    tables = {(_rows(i), _tensors(i)[0].shape[-1]) for i in large}
    updates = [i for i in facts.items if _updates(i, tables)]
    share = facts.share_of(sum(item.total for item in [*large, *updates]))
    if not large or share < _SHARE:
        return []
    for file in facts.files:
        tree = tree_of(file)
        calls = [
            node
            for node in (ast.walk(tree) if tree else ())
            if isinstance(node, ast.Call)
            and re.search(r"\bEmbedding(Bag)?$", ast.unparse(node.func))
            and "sparse" not in {keyword.arg for keyword in node.keywords}
        ]
        if not calls:
            continue
        edits = [(c, f"{ast.unparse(c)[:-1]}, sparse=True)") for c in calls]
        return [
            Finding.at(
                file,
                calls[0].lineno,
                kind="waste",
                evidence=f"{share:.0%} of the time: gradients of {_rows(large[0])} "
                f"rows, of which a step reads {_read(large[0])}",
                fix="sparse=True (with SGD, Adagrad or SparseAdam)",
                share=share,
                patch=replaced_nodes(file, edits),
                is_certain=True,
            )
        ]
    return []


def _rows(item: Computation) -> int:
    """The rows of the table of whose gradient a call computes: the op has their number,
    the derivative of a forward call the table's shape.
    """
    rows = item.arguments[2]
    return int(rows if isinstance(rows, int) else rows[0])


def _tensors(item: Computation) -> list[TensorFacts]:
    """The gradient of the result and the indices."""
    both = item.arguments[:2]
    return sorted(both, key=lambda tensor: tensor.dtype.startswith("int"))


def _read(item: Computation) -> int:
    """The rows that the forward pass read."""
    return max(int(prod(_tensors(item)[1].shape)), 1)


def _updates(item: Computation, tables: set[tuple[int, int]]) -> bool:
    """Whether an optimizer's call changes one of the tables."""
    if not item.name.startswith("_fused"):
        return False
    tensors = [t for t in item.arguments[0] if isinstance(t, TensorFacts)]
    return any(tuple(tensor.shape) in tables for tensor in tensors)
