"""What the dispatcher asks for an op with a quantized argument: ``answer``.

The rule of an op is looked up by its name: those that compute work on numbers or on
integers of one scale (``arithmetic.py``). What only moves elements does so with the
integers (``moves.py``). NotImplemented leaves the op to the dispatcher: a composite
runs as the ops it calls, any other is refused.
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
