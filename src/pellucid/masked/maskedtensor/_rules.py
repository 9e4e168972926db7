"""Rules of ops on masked tensors, as ops on data and masks.

The rule of an op follows from its declaration: a pointwise op keeps the mask, a
reduction is that of ``torch.masked``, a view op applies to both. Other ops are listed
here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._ops import packet_named
from pellucid.masked import _normalizations, _reductions
from pellucid.masked.maskedtensor.core import (
    MaskedTensor,
    WithMask,
    data_of,
    is_masked_tensor,
    mask_of,
)

Rule = Callable[..., Any]
_OF_OPERATORS = {
    "truediv": "div", "floordiv": "floor_divide", "mod": "remainder",
    "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "invert": "bitwise_not", "getitem": "select",
}  # fmt: skip
_SCALARS = ("bool", "int", "float", "complex", "index")
_OF_PLACES = ("cat", "stack", "index", "index_select", "flip", "roll", "gather")
_OF_BOTH = (*_OF_PLACES, "concat", "hstack", "vstack", "repeat", "contiguous", "tile")


def rule_of(func: Any) -> Rule | None:
    """The rule of a function, a method, an operator or an overload; None if it has
    none.
    """
    schema = getattr(func, "_schema", None)
    if schema is not None:
        return _rule(schema.name.partition("::")[2])
    name = getattr(func, "__name__", "")
    if name in ("__get__", "__set__"):
        return None
    if name.startswith("__"):
        name = name.strip("_")
        if name in _SCALARS:
            return _item
        for found in (name, name[1:]):  # __radd__ and __iadd__ as __add__
            rule = _rule(_OF_OPERATORS.get(found, found))
            if rule is not None:
                return rule
        return None
    return _rule(name)


@functools.cache
def _rule(name: str) -> Rule | None:
    if name in _NAMED:
        return _NAMED[name]
    if _has(name, pellucid.Tag.reduction):  # max, too, which is pointwise with another
        return _reduction(name) if name in _reductions.__all__ else None
    if _has(name, pellucid.Tag.pointwise):
        return _in_place if name.endswith("_") else _elementwise
    return _both if name in _OF_BOTH or _is_view(name) else None


def _has(name: str, tag: pellucid.Tag) -> bool:
    """Whether an overload of the op has the tag."""
    packet = packet_named(name)
    names = packet.overloads() if packet is not None else []
    return any(tag in getattr(packet, overload).tags for overload in names)


def _is_view(name: str) -> bool:
    packet = packet_named(name)
    if packet is None:
        return False
    schema = getattr(packet, packet.overloads()[0])._schema
    first = schema.arguments[0].alias_info if schema.arguments else None
    return first is not None and not first.is_write


def _map(function: Callable[[Any], Any], value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_map(function, each) for each in value)
    return function(value)


def _masks(values: Any) -> list[Tensor]:
    found = []
    for value in values:
        if is_masked_tensor(value):
            found.append(value._masked_mask)
        elif isinstance(value, (list, tuple)):
            found += _masks(value)
    return found


def _with_mask(data: Tensor, mask: Tensor) -> MaskedTensor:
    made: MaskedTensor = WithMask.apply(data, mask)
    return made


def _elementwise(func: Rule, *args: Any, **kwargs: Any) -> Any:
    masks = _masks([*args, *kwargs.values()])
    if not all(pellucid.equal(masks[0], other) for other in masks[1:]):
        raise ValueError(
            "Input masks must match. Give both the same mask, or fill in what is "
            "absent with to_tensor(value)"
        )
    given = [_map(data_of, each) for each in args]
    found = func(*given, **{k: _map(data_of, each) for k, each in kwargs.items()})
    return _map(lambda each: _with_mask(each, masks[0].expand_as(each)), found)


def _in_place(func: Rule, target: Any, *args: Any, **kwargs: Any) -> Any:
    """Writes into the data of a tensor that does not require gradients."""
    if not is_masked_tensor(target):
        raise TypeError("a masked tensor is not written into a plain one")
    if pellucid.is_grad_enabled() and target.requires_grad:
        raise RuntimeError("a masked tensor that requires grad is not changed in place")
    name = func._schema.name.partition("::")[2] if hasattr(func, "_schema") else None
    written = getattr(Tensor, name or func.__name__)
    others = _masks(args)
    if not all(pellucid.equal(target._masked_mask, other) for other in others):
        raise ValueError("Input masks must match.")
    written(target._masked_data, *(data_of(each) for each in args), **kwargs)
    return target


def _both(func: Rule, *args: Any, **kwargs: Any) -> Any:
    data = func(*(_map(data_of, each) for each in args), **kwargs)
    full = [_map(_full_mask, each) for each in args] if _is_mixed(args) else args
    masks = func(*(_map(mask_of, each) for each in full), **kwargs)
    if isinstance(data, (list, tuple)):
        return type(data)(map(_with_mask, data, masks))
    return _with_mask(data, masks)


def _is_mixed(args: tuple[Any, ...]) -> bool:
    """Whether a list of tensors to concatenate has plain ones, without absent
    elements.
    """
    lists = [each for each in args if isinstance(each, (list, tuple))]
    return any(len(_masks(each)) != len(each) for each in lists if _masks(each))


def _full_mask(value: Any) -> Any:
    if is_masked_tensor(value) or not isinstance(value, Tensor):
        return value
    return pellucid.ones_like(value, dtype=pellucid.bool)


def _dims_and_rest(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    names = ("dim", "keepdim", "dtype")
    return {**dict(zip(names, args, strict=False)), **kwargs}


def _reduction(name: str) -> Rule:
    masked = getattr(_reductions, name)

    def run(func: Rule, tensor: Any, *args: Any, **kwargs: Any) -> Any:
        given = _dims_and_rest(args, kwargs)
        data, mask = data_of(tensor), mask_of(tensor)
        found = masked(data, **given, mask=mask)
        return _with_mask(found, _any(mask, given))

    return run


def _norm(func: Rule, tensor: Any, p: Any = 2.0, *args: Any, **kwargs: Any) -> Any:
    given = _dims_and_rest(args, kwargs)
    order = {"fro": 2.0, None: 2.0}.get(p, p)
    data, mask = data_of(tensor), mask_of(tensor)
    found = _reductions.norm(data, order, **given, mask=mask)
    return _with_mask(found, _any(mask, given))


def _any(mask: Tensor, given: dict[str, Any]) -> Tensor:
    """The mask of a reduction: where any reduced element is present."""
    dim, keepdim = given.get("dim"), given.get("keepdim", False)
    if dim is None or dim == ():
        return mask.any() if not keepdim else mask.any().reshape([1] * mask.dim())
    return mask.any(dim, keepdim)


def _all(func: Rule, tensor: Any, *args: Any, **kwargs: Any) -> Any:
    given = _dims_and_rest(args, kwargs)
    mask = mask_of(tensor)
    found = data_of(tensor).bool().masked_fill(~mask, True)
    return _with_mask(found.all(**given), _any(mask, given))


def _normalization(name: str) -> Rule:
    masked = getattr(_normalizations, name)

    def run(func: Rule, tensor: Any, dim: int = -1, *_: Any, **kwargs: Any) -> Any:
        dtype = kwargs.get("dtype")
        mask = mask_of(tensor)
        return _with_mask(masked(data_of(tensor), dim, dtype=dtype, mask=mask), mask)

    return run


def _where(func: Rule, *args: Any, **kwargs: Any) -> Any:
    if len(args) != 3 or kwargs:
        raise ValueError(f"where: a condition and two tensors, got {len(args)}")
    condition, *sides = args
    data = pellucid.where(condition, *map(data_of, sides))
    masks = [mask_of(_full_mask(side)) for side in sides]
    return _with_mask(data, pellucid.where(condition, *masks))


def _converted(func: Rule, tensor: Any, *args: Any, **kwargs: Any) -> Any:
    found = func(data_of(tensor), *args, **kwargs)
    return _with_mask(found, mask_of(tensor).to(found.device))


def _item(func: Rule, tensor: Any) -> Any:
    if not bool(mask_of(tensor)):
        raise ValueError("item: the element of this masked tensor is absent")
    return func(data_of(tensor))


def _to_dense(func: Rule, tensor: Any, *args: Any, **kwargs: Any) -> Any:
    return tensor


_CONVERSIONS = (
    *("to", "type", "float", "double", "half", "int", "long", "short", "char", "bool"),
    *("cpu", "clone", "detach", "_to_copy", "ones_like", "zeros_like", "full_like"),
)
_NAMED: dict[str, Rule] = {
    **dict.fromkeys(_CONVERSIONS, _converted),
    **{name: _normalization(name) for name in ("softmax", "log_softmax")},
    "_softmax": _normalization("softmax"),
    "_log_softmax": _normalization("log_softmax"),
    "norm": _norm,
    "all": _all,
    "where": _where,
    "item": _item,
    "_local_scalar_dense": _item,
    "to_dense": _to_dense,
}
