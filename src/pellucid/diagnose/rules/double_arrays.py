"""Float64 arrays of NumPy that a program keeps, and computes with as float32."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pellucid.diagnose.edits import replaced_nodes, tree_of
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.verdict import Facts

_LEAST, _COUNT = 16 << 20, 50  # bytes, arrays
_NUMPY = re.compile(r"\b(np|numpy)\.")
_TO_FLOAT = r"\.float\(\)|float32"


def find(facts: Facts) -> list[Finding]:
    """The expression that makes them: a quotient of arrays, or random numbers."""
    count, nbytes = facts.settings.get("double_arrays", (0, 0))
    if nbytes < _LEAST or count < _COUNT:
        return []
    computing = [item for item in facts.items if not item.is_copy]
    doubles = sum(item.total for item in computing if item.dtype == "float64")
    singles = sum(item.total for item in computing if item.dtype == "float32")
    if doubles > singles or not any(facts.matching(_TO_FLOAT)):
        return []
    for file in facts.files:
        for made in _made(file):
            text = ast.unparse(made)
            new = f"({text}).astype('float32')"
            return [
                Finding.at(
                    file,
                    made.lineno,
                    kind="peak",
                    evidence=f"{count} arrays of float64 from here are kept, "
                    f"{nbytes / 2**20:.0f} MiB; what computes with them is float32",
                    fix="keep what came in (uint8), or float32, and convert the batch",
                    share=0.2,
                    patch=replaced_nodes(file, [(made, new)]),
                    keeps_output=True,
                    is_certain=True,
                )
            ]
    return []


def _made(file: str) -> Iterator[ast.expr]:
    """Expressions in functions that make float64 of NumPy's arrays, those that a
    function returns first.
    """
    tree = tree_of(file)
    nodes = list(ast.walk(tree)) if tree else []
    returned = [n.value for n in nodes if isinstance(n, ast.Return) and n.value]
    assigned = [n.value for n in nodes if isinstance(n, ast.Assign)]
    for value in (*returned, *assigned):
        text = ast.unparse(value)
        is_quotient = isinstance(value, ast.BinOp) and isinstance(value.op, ast.Div)
        is_random = "standard_normal(" in text or "random.randn(" in text
        if _NUMPY.search(text) and (is_quotient or is_random) and "torch." not in text:
            yield value
