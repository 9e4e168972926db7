"""Which pointwise ops keep patterns, as ``kept.txt`` lists them.

``python -m tests.sparse.kept`` writes the list; a line is an op and what its result's
pattern is of: ``all`` operands' union, or that of some of them.
"""

from pathlib import Path

import pellucid_compiler.catalogue
from pellucid_compiler.declare.op import REGISTRY
from pellucid_compiler.ir.expr import load
from pellucid_compiler.transforms.represent import is_background

TABLE = Path(__file__).with_name("kept.txt")


def body_of(op):
    """The op's first output in float operands and default numbers, and how many; None
    where a number has no default or the body is not one of floats.
    """
    arguments, count = [], 0
    for argument in op.schema.arguments:
        if argument.type in ("Tensor", "Tensor?"):
            arguments.append(load(len(arguments), (), "float32"))
            count += 1
        elif argument.has_default:
            arguments.append(argument.default)
        else:
            return None
    try:
        body = op.scalar_body(*arguments)
    except (TypeError, ValueError, AttributeError, RuntimeError):
        return None
    return (body[0] if isinstance(body, tuple) else body), count


def kept():
    """{name: the operands that limit the pattern, or "all"}"""
    assert pellucid_compiler.catalogue
    actual = {}
    for name, op in sorted(REGISTRY.items()):
        body = body_of(op) if op.kind == "pointwise" else None
        if body is None or not body[1]:
            continue
        expr, count = body
        limiting = [k for k in range(count) if is_background(expr, [k])]
        if limiting:
            actual[name] = " ".join(map(str, limiting))
        elif is_background(expr, range(count)):
            actual[name] = "all"
    return actual


def lines():
    return [f"{name}: {which}" for name, which in kept().items()]


if __name__ == "__main__":
    TABLE.write_text("\n".join(lines()) + "\n")
