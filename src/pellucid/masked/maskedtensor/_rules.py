"""Rules of ops on masked tensors, as ops on data and masks.

The rule of an op follows from its declaration: a pointwise op keeps the mask, a
reduction is that of ``torch.masked``, a view, or an op that only moves elements,
applies to both. Other ops register their rules.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._decomp.graphs import moves_elements
from pellucid._ops import OpOverload, facts, packet_named
from pellucid._ops.rules import Registry
from pellucid.masked import _normalizations, _reductions
from pellucid.masked._sparse import have_equal_patterns
from pellucid.masked.maskedtensor.core import (
    MaskedTensor,
    WithMask,
    data_of,
    is_masked_tensor,
    mask_of,
    op_rules,
)
from pellucid.sparse._ops.dense import values_at
from pellucid.sparse._ops.parts import is_sparse, split

Rule = Callable[..., Any]
_OF_OPERATORS = {
    "truediv": "div", "floordiv": "floor_divide", "mod": "remainder",
    "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "invert": "bitwise_not", "getitem": "select",
}  # fmt: skip


def computed(func: Any, args: Any, kwargs: Any) -> Any:
    """What a function, a method, an operator or an overload gives; NotImplemented if
    there is no rule for it.
    """
    name = func._opname if isinstance(func, OpOverload) else _name_of(func)
    rule = _rule(name)
    return NotImplemented if rule is None else rule(func, *args, **kwargs)


op_rules["computed"] = computed


def _name_of(func: Any) -> str:
    """The name of its op: __radd__ and __iadd__ are computed as __add__."""
    name: str = getattr(func, "__name__", "")
    is_attribute = name in ("__get__", "__set__")
    if not name.startswith("__") or is_attribute or name in RULES.by_name:
        return name
    names = [_OF_OPERATORS.get(n, n) for n in (name.strip("_"), name.strip("_")[1:])]
    return names[0] if _overloads(names[0]) else names[1]


@functools.cache
def _rule(name: str) -> Rule | None:
    if name in RULES.by_name:
        return RULES.by_name[name].function
    ops = [op for op in _overloads(name) if not facts.is_out(op)]
    # max is a reduction, and pointwise with another tensor
    op = max(ops, key=facts.is_reduction, default=None)
    return None if op is None else RULES.derive(op)


def _overloads(name: str) -> list[Any]:
    packet = packet_named(name)
    return [] if packet is None else [getattr(packet, o) for o in packet.overloads()]


def _derived(op: Any) -> Rule | None:
    if facts.is_reduction(op):
        is_masked = op._opname in _reductions.__all__
        return _reduction(op._opname) if is_masked else None
    if facts.is_elementwise(op):
        return _in_place if op._schema.is_mutable else _elementwise
    return _both if op.is_view else _moved


RULES = Registry(_derived)


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


def _require_equal(masks: list[Tensor]) -> None:
    if not all(_are_equal(masks[0], other) for other in masks[1:]):
        raise ValueError(
            "Input masks must match. Give both the same mask, or fill in what is "
            "absent with to_tensor(value)"
        )


def _are_equal(first: Tensor, second: Tensor) -> bool:
    if not (is_sparse(first) and is_sparse(second)):
        return first.layout is second.layout and pellucid.equal(first, second)
    mine, other = split(first), split(second)
    is_one = mine.size == other.size and have_equal_patterns(mine, other)
    return is_one and pellucid.equal(mine.values, other.values)


def _elementwise(func: Rule, *args: Any, **kwargs: Any) -> Any:
    masks = _masks([*args, *kwargs.values()])
    _require_equal(masks)
    numbers, rebuilt = _numbers_of(masks[0]), _rebuilding(masks[0])
    given = [_map(numbers, each) for each in args]
    found = func(*given, **{k: _map(numbers, each) for k, each in kwargs.items()})
    return _map(rebuilt, found)


def _numbers_of(mask: Tensor) -> Callable[[Any], Any]:
    """What a pointwise op computes of an operand: the data, or if that is sparse the
    values that it stores.
    """
    if not is_sparse(mask):
        return data_of
    pattern = split(mask)

    def numbers(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        data = data_of(value)
        return values_at(data, pattern) if data.shape == mask.shape else data

    return numbers


def _rebuilding(mask: Tensor) -> Callable[[Tensor], MaskedTensor]:
    """The inverse of ``_numbers_of``, of results."""

    def masked(each: Tensor) -> MaskedTensor:
        if is_sparse(mask):
            return _with_mask(split(mask).with_values(each), mask)
        return _with_mask(each, mask.to(each.device).expand_as(each))

    return masked


def _in_place(func: Rule, target: Any, *args: Any, **kwargs: Any) -> Any:
    """Writes into the data of a tensor that does not require gradients."""
    if not is_masked_tensor(target):
        raise TypeError("a masked tensor is not written into a plain one")
    if pellucid.is_grad_enabled() and target.requires_grad:
        raise RuntimeError("a masked tensor that requires grad is not changed in place")
    written = getattr(Tensor, func.__name__.partition(".")[0])
    mask = target._masked_mask
    _require_equal([mask, *_masks([*args, *kwargs.values()])])
    numbers = _numbers_of(mask)
    given = [_map(numbers, each) for each in args]
    options = {k: _map(numbers, each) for k, each in kwargs.items()}
    data = target._masked_data
    written(split(data).values if is_sparse(data) else data, *given, **options)
    return target


def _moved(func: Rule, *args: Any, **kwargs: Any) -> Any:
    """An op that moves elements, in any overload that takes the arguments."""
    ops = [func] if isinstance(func, OpOverload) else _overloads(func.__name__)
    given = [_map(data_of, each) for each in args]
    forms = [given]
    if all(isinstance(each, int) for each in given[1:]):
        forms.append([given[0], given[1:]])  # x.repeat(2, 1) for x.repeat([2, 1])
    if not any(_moves(op, form, kwargs) for form in forms for op in ops):
        return NotImplemented
    return _both(func, *args, **kwargs)


def _moves(op: Any, args: Any, kwargs: Any) -> bool:
    with contextlib.suppress(TypeError):  # another overload's arguments
        return moves_elements(op, args, kwargs)
    return False


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
        return _reduced(masked, tensor, _dims_and_rest(args, kwargs))

    return run


def _reduced(function: Rule, tensor: Any, given: dict[str, Any]) -> Any:
    """A reduction of ``masked``; of all elements of sparse data, it is dense."""
    data, mask = data_of(tensor), mask_of(tensor)
    if is_sparse(data) and given.get("dim") in (None, ()):
        by_place = function in (_reductions.argmax, _reductions.argmin)
        change = Tensor.to_dense if by_place else _values
        data, mask = change(data), change(mask)
    found = function(data, **given, mask=mask)
    if is_sparse(found):  # it stores an element where any is present
        parts = split(found.detach())
        return _with_mask(
            found,
            parts.with_values(pellucid.ones_like(parts.values, dtype=pellucid.bool)),
        )
    return _with_mask(found, _any(mask, given))


def _values(tensor: Tensor) -> Tensor:
    return split(tensor).values


@RULES.because("the order of Frobenius norms is a string", overrides=True)("norm")
def _norm(func: Rule, tensor: Any, p: Any = 2.0, *args: Any, **kwargs: Any) -> Any:
    given = _dims_and_rest(args, kwargs)
    order = {"fro": 2.0, None: 2.0}.get(p, p)
    function = functools.partial(_reductions.norm, ord=order)
    return _reduced(function, tensor, given)


def _any(mask: Tensor, given: dict[str, Any]) -> Tensor:
    """The mask of a reduction: where any reduced element is present."""
    dim, keepdim = given.get("dim"), given.get("keepdim", False)
    if dim is None or dim == ():
        return mask.any() if not keepdim else mask.any().reshape([1] * mask.dim())
    return mask.any(dim, keepdim)


@RULES.because("absent elements count as true")("all")
def _all(func: Rule, tensor: Any, *args: Any, **kwargs: Any) -> Any:
    given = _dims_and_rest(args, kwargs)
    mask = mask_of(tensor)
    found = data_of(tensor).bool().masked_fill(~mask, True)
    return _with_mask(found.all(**given), _any(mask, given))


@RULES.because("absent elements count as minus infinity")(
    "softmax", "_softmax", "log_softmax", "_log_softmax"
)
def _softmax(func: Rule, tensor: Any, dim: int = -1, *_: Any, **kwargs: Any) -> Any:
    name = func.__name__.partition(".")[0].lstrip("_")
    data, mask, dtype = data_of(tensor), mask_of(tensor), kwargs.get("dtype")
    found = getattr(_normalizations, name)(data, dim, dtype=dtype, mask=mask)
    return _with_mask(found, mask)


@RULES.because("the masks are chosen, too", overrides=True)("where")
def _where(func: Rule, *args: Any, **kwargs: Any) -> Any:
    if len(args) != 3 or kwargs:
        raise ValueError(f"where: a condition and two tensors, got {len(args)}")
    condition, *sides = args
    data = pellucid.where(condition, *map(data_of, sides))
    masks = [mask_of(_full_mask(side)) for side in sides]
    return _with_mask(data, pellucid.where(condition, *masks))


@RULES.because("an absent element has no number")(
    *("item", "__bool__", "__int__", "__float__", "__complex__", "__index__")
)
def _item(func: Rule, tensor: Any) -> Any:
    if not bool(mask_of(tensor)):
        raise ValueError("item: the element of this masked tensor is absent")
    return func(data_of(tensor))


@RULES.because("data and mask change their layout together")(
    *("to_dense", "_to_dense", "to_sparse", "_to_sparse"),
    *("to_sparse_csr", "_to_sparse_csr"),
)
def _converted(func: Rule, tensor: Any, *args: Any, **kwargs: Any) -> Any:
    data, mask = data_of(tensor), mask_of(tensor)
    name = func.__name__.partition(".")[0].lstrip("_")
    converted = getattr(mask, name)(*args, **kwargs)
    if is_sparse(converted) and not is_sparse(data):
        return _with_mask(data.sparse_mask(converted), converted)
    return _with_mask(getattr(data, name)(*args, **kwargs), converted)
