"""Levels and wrappers: the Python side of running transforms.

A running vmap or jvp is a *level* (``runtime/transforms/level.h``); its tensors are
wrapped: a batched tensor holds all examples along dim 0, a dual tensor a primal and a
tangent. Ops on wrapped tensors are implemented in the runtime. This module enters and
leaves levels, and unwraps a tensor at one level below the wrappers of inner levels.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from pellucid import _C
from pellucid._tensor import Tensor

RANDOMNESS = ("error", "different", "same")


class Level(NamedTuple):
    """A running transform; ``number`` increases inwards, ``size`` and ``randomness``
    belong to batch levels.
    """

    number: int
    kind: str
    size: int
    randomness: str


class Wrapped(NamedTuple):
    """The contents of a wrapper; ``tangent`` is None for a batched tensor, which is
    ``uniform`` if it was computed only from values that all examples share.
    """

    level: int
    value: Tensor
    tangent: Tensor | None
    uniform: bool


@contextmanager
def batch_level(size: int, randomness: str) -> Iterator[int]:
    """A scope: a level of ``size`` examples."""
    number = _C._enter_batch_level(size, RANDOMNESS.index(randomness))
    try:
        yield number
    finally:
        _C._leave_level(number)


@contextmanager
def forward_level() -> Iterator[int]:
    """A scope: a level whose tensors have tangents."""
    number = _C._enter_forward_level()
    try:
        yield number
    finally:
        _C._leave_level(number)


def active_levels() -> list[Level]:
    """This thread's running transforms, innermost last."""
    return [
        Level(number, kind, size, RANDOMNESS[randomness])
        for number, kind, size, randomness in _C._levels()
    ]


def unwrap(tensor: Tensor) -> Wrapped | None:
    """The outermost wrapper, which belongs to the innermost level; None if plain."""
    found = _C._unwrap(tensor)
    return None if found is None else Wrapped(*found)


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """The tensor inside a transform's wrapper: all examples, or the primal; to inspect.

    Without ``recurse`` only one wrapper is removed. Plain tensors are returned
    unchanged. Computing with the result inside the transform gives wrong results.
    """
    found = unwrap(tensor)
    if found is None:
        return tensor
    return debug_unwrap(found.value) if recurse else found.value


def wrappers(tensor: Tensor) -> Iterator[Wrapped]:
    """All wrappers, innermost level first."""
    found = unwrap(tensor)
    while found is not None:
        yield found
        found = unwrap(found.value)


def innermost_level(
    tensors: Iterable[Tensor], others: Iterable[Tensor]
) -> Wrapped | None:
    """A wrapper of the innermost level of ``tensors`` and of ``others``' tangents."""
    found = [w for t in tensors for w in wrappers(t)]
    found += [w for t in others for w in wrappers(t) if w.tangent is not None]
    return max(found, key=lambda w: w.level, default=None)


def expanded(tensor: Tensor, size: int) -> Tensor:
    """The tensor expanded to ``size`` along a new dim 0."""
    return tensor.unsqueeze(0).expand(size, *tensor.shape)


def plain(tensor: Tensor) -> Tensor:
    """The tensor inside all wrappers."""
    for wrapped in wrappers(tensor):
        tensor = wrapped.value
    return tensor


def without_history(tensor: Tensor) -> Tensor:
    """``tensor`` without its graph but with its tangents, which ``detach`` drops."""
    found = unwrap(tensor)
    if found is None:
        return tensor.detach()
    value = without_history(found.value)
    if found.tangent is None:
        return _C._make_batched(value, found.level, found.uniform)
    return _C._make_dual(value, without_history(found.tangent), found.level)


# ------------------------------------------------------------ at a given level


def examples(tensor: Tensor, level: int, size: int) -> Tensor:
    """``tensor`` with the examples of a batch level along dim 0."""
    found = unwrap(tensor)
    if found is None or found.level < level:
        return expanded(tensor, size)
    if found.level == level:
        return found.value
    inner = examples(found.value, level, size)
    if found.tangent is None:
        return _C._make_batched(inner.transpose(0, 1), found.level, found.uniform)
    tangents = examples(found.tangent, level, size)
    return _C._make_dual(inner, tangents, found.level)


def from_examples(tensor: Tensor, level: int, uniform: bool) -> Tensor:
    """The inverse of ``examples``."""
    found = unwrap(tensor)
    if found is None or found.level < level:
        return _C._make_batched(tensor, level, uniform)
    assert found.tangent is None
    inner = from_examples(found.value.transpose(0, 1), level, uniform)
    return _C._make_batched(inner, found.level, found.uniform)


def is_uniform(tensor: Tensor, level: int) -> bool:
    """Whether ``tensor`` is the same for all examples of a batch level."""
    for wrapped in wrappers(tensor):
        if wrapped.level == level:
            return wrapped.uniform
        if wrapped.tangent is not None and not is_uniform(wrapped.tangent, level):
            return False
    return True


def primal_and_tangent(tensor: Tensor, level: int) -> tuple[Tensor, Tensor | None]:
    """The primal and tangent of ``tensor`` at a forward level."""
    found = unwrap(tensor)
    if found is None or found.level < level:
        return tensor, None
    if found.level == level:
        return found.value, found.tangent
    primal, tangent = primal_and_tangent(found.value, level)
    if tangent is not None:
        tangent = _C._make_batched(tangent, found.level, found.uniform)
    return _C._make_batched(primal, found.level, found.uniform), tangent


def dual(primal: Tensor, tangent: Tensor, level: int) -> Tensor:
    """The inverse of ``primal_and_tangent``."""
    wrapped = (unwrap(primal), unwrap(tangent))
    outermost = max((w.level for w in wrapped if w is not None), default=0)
    if outermost < level:
        return _C._make_dual(primal, tangent, level)
    size = next(n.size for n in active_levels() if n.number == outermost)
    first = examples(primal, outermost, size)
    second = examples(tangent, outermost, size)
    uniform = all(is_uniform(t, outermost) for t in (primal, tangent))
    return _C._make_batched(dual(first, second, level), outermost, uniform)


def is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor)
