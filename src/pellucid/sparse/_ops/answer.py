"""The dispatcher's entry point for ops with sparse arguments: ``answer``.

The rule of an op is looked up by its name: a rule that builds another pattern
(``shapes``, ``reductions``, ``products``, ``copies``, ``optimizers``), or the rule of
pointwise ops. In-place and ``out=`` forms write the functional op's result. With
NotImplemented the dispatcher decomposes a composite and refuses any other op.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pellucid
from pellucid.sparse._ops import (
    copies,
    optimizers,
    pointwise,
    products,
    reductions,
    shapes,
)
from pellucid.sparse._ops.writes import write

_Rule = Callable[..., Any]
RULES: dict[str, _Rule] = {
    **copies.RULES,
    **shapes.RULES,
    **reductions.RULES,
    **products.RULES,
    **optimizers.RULES,
}
_chosen: dict[Any, _Rule] = {}


def answer(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The results of the overload ``op``, or NotImplemented."""
    rule = _chosen.get(op)
    if rule is None:
        rule = _chosen[op] = _choose(op)
    return rule(*args, **kwargs)


def _choose(op: Any) -> _Rule:
    name = op._schema.name.partition("::")[2]
    if name in RULES and "out" not in (a.name for a in op._schema.arguments):
        return RULES[name]
    written = [a for a in op._schema.arguments if a.is_write]
    if written:
        return _writing(op, name, written)
    if pointwise.is_pointwise(op):
        return pointwise.of(op)
    return lambda *args, **kwargs: NotImplemented


def _writing(op: Any, name: str, written: list[Any]) -> _Rule:
    """``op_`` and ``op(out=)``: writes the functional form's result."""
    base = name[:-1] if name.endswith("_") and not name.endswith("__") else name
    functional = RULES.get(base) or _functional(op, base)
    if functional is None or len(written) != 1:
        return lambda *args, **kwargs: NotImplemented
    in_place = written[0].name == op._schema.arguments[0].name

    def run(*args: Any, **kwargs: Any) -> Any:
        target = args[0] if in_place else kwargs.pop(written[0].name)
        return write(target, functional(*args, **kwargs), name)

    return run


def _functional(op: Any, base: str) -> Any:
    """The functional overload of ``op``."""
    packet = getattr(pellucid.ops.aten, base, None)
    if packet is None:
        return None
    overload = op._schema.overload_name
    for wanted in (overload, overload.removesuffix("_out"), "default"):
        if not wanted.endswith("out") and wanted in packet.overloads():
            return getattr(packet, wanted)
    return None
