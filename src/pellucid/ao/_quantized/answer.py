"""The dispatcher's entry point for ops with quantized arguments: ``answer``.

The rule of an op is looked up by its name: rules of arithmetic work on the dequantized
numbers or on integers of one scale (``arithmetic.py``). Ops that only move elements are
applied to the integers (``moves.py``). With NotImplemented the dispatcher decomposes a
composite and refuses any other op.
"""

from __future__ import annotations

from typing import Any

from pellucid.ao._quantized import arithmetic, moves, writes

RULES = {**moves.RULES, **arithmetic.RULES, **writes.RULES}


def answer(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The results of the overload ``op``, or NotImplemented."""
    name = op._schema.name.partition("::")[2]
    rule = RULES.get(name)
    if "out" in kwargs:
        return NotImplemented
    if rule is None:
        return moves.move(op, *args, **kwargs)
    return rule(op, *args, **kwargs)
