"""Assertions as functions, which traces can hold, and checks that name the error.

Imported lazily.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pellucid
from pellucid import SymBool, SymInt, Tensor
from pellucid._package.calls import offered
from pellucid.utils._symbolic.numbers import condition


@offered.function
def _assert(condition: Any, message: str) -> None:
    """Raises AssertionError with the message unless the condition holds."""
    assert condition, message


_Message = Callable[[], object] | None


@offered.value
def _check_with(
    error_type: type[Exception], cond: Any, message: _Message = None
) -> None:
    """Raises ``error_type`` unless ``cond`` holds, with the text of what ``message()``
    returns. TypeError for a condition that is not a bool, and for a message that
    cannot be called.
    """
    if isinstance(cond, SymBool):  # of a number that a traced program reads
        cond = cond.require()
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is None:
        raise error_type("Expected cond to be True, but got False")
    if not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(str(message()))


@offered.value
def _check(cond: Any, message: _Message = None) -> None:
    """RuntimeError unless ``cond`` holds; see ``_check_with``."""
    _check_with(RuntimeError, cond, message)


@offered.value
def _check_index(cond: Any, message: _Message = None) -> None:
    """IndexError unless ``cond`` holds; see ``_check_with``."""
    _check_with(IndexError, cond, message)


@offered.value
def _check_value(cond: Any, message: _Message = None) -> None:
    """ValueError unless ``cond`` holds; see ``_check_with``."""
    _check_with(ValueError, cond, message)


@offered.value
def _check_type(cond: Any, message: _Message = None) -> None:
    """TypeError unless ``cond`` holds; see ``_check_with``."""
    _check_with(TypeError, cond, message)


@offered.value
def _check_not_implemented(cond: Any, message: _Message = None) -> None:
    """NotImplementedError unless ``cond`` holds; see ``_check_with``."""
    _check_with(NotImplementedError, cond, message)


@offered.value
def _check_is_size(i: Any, message: _Message = None, *, max: Any = None) -> None:
    """RuntimeError unless ``i`` is at least 0, and at most ``max`` if given."""
    _check_with(RuntimeError, condition(i, ">=", 0), message)
    if max is not None:
        _check_with(RuntimeError, condition(i, "<=", max), message)


@offered.value
def sym_constrain_range(
    size: int, *, min: int | None = None, max: int | None = None
) -> None:
    """RuntimeError unless the number is from ``min`` to ``max``; a traced program's
    number has this range from now on.
    """
    if not isinstance(size, SymInt):
        pellucid.ops.aten.sym_constrain_range.default(size, min=min, max=max)
        return
    if min is not None:
        _check(condition(size, ">=", min))
    if max is not None:
        _check(condition(size, "<=", max))


@offered.value
def sym_constrain_range_for_size(
    size: int, *, min: int | None = None, max: int | None = None
) -> None:
    """``sym_constrain_range`` of a size: ``min`` is 0 by default."""
    if not isinstance(size, SymInt):
        for_size = pellucid.ops.aten.sym_constrain_range_for_size.default
        for_size(size, min=min, max=max)
        return
    sym_constrain_range(size, min=0 if min is None else min, max=max)


@offered.value
def _constrain_as_size(
    symbol: int, min: int | None = None, max: int | None = None
) -> None:
    """``sym_constrain_range_for_size``."""
    sym_constrain_range_for_size(symbol, min=min, max=max)


@offered.value
def _check_tensor_all_with(
    error_type: type[Exception], cond: Tensor, message: _Message = None
) -> None:
    """``_check_with`` of whether all elements of a tensor of bools are True."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype != pellucid.bool:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error_type, bool(cond.all()), message)


@offered.value
def _check_tensor_all(cond: Tensor, message: _Message = None) -> None:
    """RuntimeError unless all elements are True; see ``_check_with``."""
    _check_tensor_all_with(RuntimeError, cond, message)


@offered.value
def _shape_as_tensor(tensor: Tensor) -> Tensor:
    """The sizes as a tensor of int64."""
    return pellucid.tensor(tensor.shape, dtype=pellucid.int64)
