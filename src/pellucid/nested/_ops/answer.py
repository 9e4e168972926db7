"""The dispatcher's entry point for ops with nested arguments: ``answer``.

The rule of an op is looked up by its name; reductions are identified by their tag; any
other op is computed on the values (pointwise ops, ops along dims that are not ragged)
or on each example.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pellucid
from pellucid import _C, Tensor
from pellucid.nested._ops import mapping, pointwise, shapes
from pellucid.nested._ops.parts import is_nested, join, split
from pellucid.sparse._ops.pointwise import is_pointwise

_Bound = dict[str, Any]
_Rule = Callable[[Any, _Bound], Any]


def _product(op: Any, bound: _Bound) -> Any:
    """A product with one matrix for all examples: on the values, if rows stay rows."""
    first, second = list(bound.values())[:2]
    if is_nested(first) and not is_nested(second) and second.dim() <= 2:
        parts = split(first)
        if parts.is_jagged and parts.axis != parts.dim - 1:
            found = op(parts.values, second, *list(bound.values())[2:])
            _C._repeat_on_parts()
            return join(parts._replace(values=found))
    if not is_nested(first) and first.dim() > 2 and not split(second).is_jagged:
        raise RuntimeError("Expected both to be nested, but got a non-nested self")
    parts = split(first if is_nested(first) else second)
    if op._schema.name.endswith("mm"):  # of examples: without the batch dim
        op, bound = pellucid.ops.aten.matmul.default, {"self": first, "other": second}
    return mapping.mapped(op, bound, parts)


def _rows(op: Any, bound: _Bound) -> Any:
    """Normalisation over trailing dims: on the values, if the ragged dim is before
    them.
    """
    parts = split(next(v for v in bound.values() if is_nested(v)))
    normalized = len(bound["normalized_shape"])
    if parts.is_jagged and parts.axis < parts.dim - normalized:
        return mapping.flat(op, bound)
    if parts.is_jagged:
        raise RuntimeError(
            f"{op}: not supported when normalizing over the ragged dimension"
        )
    return mapping.mapped(op, bound, parts)


def _embedding(op: Any, bound: _Bound) -> Any:
    """One table for all rows of indices, or a table for each example."""
    rule = mapping.apply if is_nested(bound["weight"]) else mapping.flat
    return rule(op, bound)


def _copy_into(op: Any, bound: _Bound) -> Any:
    source = bound["src"]
    if not is_nested(bound["self"]) or not is_nested(source):
        raise RuntimeError("copy_ only supports Nested tensors of the same structure")
    return _written(bound["self"], source)


def _written(target: Tensor, found: Tensor) -> Tensor:
    if target.requires_grad and pellucid.is_grad_enabled():
        raise RuntimeError(
            "a nested tensor that records gradients cannot be written in place: use "
            "the op that returns a new tensor"
        )
    into, source = split(target), split(found)
    pairs = zip(into.pieces(), source.pieces(), strict=True)
    if into.structure is source.structure:
        pairs = zip([into.values], [source.values], strict=True)
    for place, value in pairs:
        place.copy_(value)
    return target


def _equal(op: Any, bound: _Bound) -> Any:
    first, second = split(bound["self"]), split(bound["other"])
    pairs = zip(first.pieces(), second.pieces(), strict=False)
    return first.batch == second.batch and all(pellucid.equal(a, b) for a, b in pairs)


def _reduction(op: Any, bound: _Bound) -> Any:
    if any(mapping.names_dims(bound, name) for name in ("dim", "axis")):
        return mapping.apply(op, bound)
    return mapping.over_all(op, bound)


_FLAT = (
    *("detach", "clone", "alias", "_to_copy", "to", "contiguous", "type_as", "lift"),
    *("zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like"),
    *("dropout", "feature_dropout", "native_dropout", "bernoulli"),
    *("float", "double", "half", "bfloat16", "int", "long", "bool", "cpu"),
    *("nan_to_num", "randint_like", "positive"),
)
RULES: dict[str, _Rule] = {
    **dict.fromkeys(_FLAT, mapping.flat),
    **dict.fromkeys(("new_zeros", "new_ones", "new_empty", "new_full"), mapping.dense),
    **shapes.RULES,
    **dict.fromkeys(("linear", "matmul", "mm", "bmm"), _product),
    **dict.fromkeys(("layer_norm", "native_layer_norm", "rms_norm"), _rows),
    "embedding": _embedding,
    "copy_": _copy_into,
    "equal": _equal,
}
_REFUSED = (
    "set_",
    "resize_",
    "as_strided",
    "_reshape_alias",
    "item",
    "_local_scalar_dense",
)
_chosen: dict[Any, Any] = {}


def answer(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The results of the overload ``op``, or NotImplemented."""
    found = _chosen.get(op)
    if found is None:
        found = _chosen[op] = _choose(op)
    rule, names = found
    return rule(op, {**dict(zip(names, args, strict=False)), **kwargs})


def _choose(op: Any) -> tuple[_Rule, list[str]]:
    schema = op._schema
    names = [a.name for a in schema.arguments]
    name = schema.name.partition("::")[2]
    written = [a for a in schema.arguments if a.is_write]
    of_transforms = schema.name.startswith("derivative::")  # whose dims are others
    if of_transforms or name in _REFUSED or len(written) > 1:
        return _refused, names
    if name in RULES:
        return (RULES[name] if not written or name == "copy_" else _refused), names
    if written:
        return _writing(op, name, written[0].name), names
    if pellucid.Tag.reduction in op.tags:
        return _reduction, names
    return (pointwise.apply if is_pointwise(op) else mapping.apply), names


def _refused(op: Any, bound: _Bound) -> Any:
    return NotImplemented


def _writing(op: Any, name: str, target: str) -> _Rule:
    """``op_``: writes the functional form's result."""
    if target != op._schema.arguments[0].name or not name.endswith("_"):
        return _refused
    packet = getattr(pellucid.ops.aten, name[:-1], None)
    overload = op._schema.overload_name or "default"
    if packet is None or overload not in packet.overloads():
        return _refused
    functional = getattr(packet, overload)

    def run(op: Any, bound: _Bound) -> Any:
        if not is_nested(bound[target]):
            return NotImplemented
        return _written(bound[target], pointwise.call(functional, bound))

    return run
