"""``register_sharding``: how an op without a declaration may be split."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pellucid.distributed.tensor._registered import Strategy, registered

__all__ = ["register_sharding"]

_F = TypeVar("_F", bound=Callable[..., Sequence[Strategy]])


def register_sharding(op: Any) -> Callable[[_F], _F]:
    """Decorates a function that lists an op's strategies along one mesh dim: pairs of
    the placements of its results and of its arguments, with None for arguments that are
    no tensors. It is called with the op's arguments, tensors as ``DTensorSpec``. ``op``
    is an overload, or several.

    Ops with a declaration need none: their shardings are derived.

    Example::

        @register_sharding(torch.ops.mine.scale.default)
        def scale_sharding(x, factor):
            return [([Shard(d)], [Shard(d), None]) for d in range(x.ndim)] + [
                ([Replicate()], [Replicate(), None])
            ]
    """

    def register(function: _F) -> _F:
        for each in op if isinstance(op, list) else [op]:
            registered[each] = function
        return function

    return register
