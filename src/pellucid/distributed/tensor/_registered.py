"""Shardings that users register for ops without a declaration: custom ops."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pellucid as torch
from pellucid.distributed.tensor._dtensor_spec import DTensorSpec
from pellucid.distributed.tensor._rules import Shared, _state
from pellucid.distributed.tensor.placement_types import Placement
from pellucid.utils import _pytree as pytree
from pellucid_compiler.transforms.shard import moving_cost

Strategy = tuple[Sequence[Placement | None], Sequence[Placement | None]]
"""Placements of the results, and of the arguments (None: not a tensor)."""

registered: dict[Any, Callable[..., Sequence[Strategy]]] = {}
"""By op: what lists its strategies along one mesh dim, from its arguments with a
DTensorSpec in the place of each tensor.
"""


def registered_rule(call: Any) -> Shared:
    """How a call of a registered op runs: by the strategy, per mesh dim, that moves
    the fewest elements.
    """
    dtypes = [local.dtype for local in call.locals]
    specs = list(map(DTensorSpec.of, call.specs, dtypes))
    args, kwargs = call.with_tensors(specs)
    options = [
        (list(outs), [p for p in ins if p is not None])
        for outs, ins in registered[call.func](*args, **kwargs)
    ]
    chosen = [_cheapest(call, options, dim) for dim in range(call.mesh.ndim)]
    needs = tuple(zip(*(ins for _, ins in chosen), strict=True))
    is_shared = tuple(
        any(not placement.is_replicate() for placement in ins) for _, ins in chosen
    )
    return Shared(
        needs=needs,
        is_entered=tuple(
            tuple(
                shared and placement.is_replicate()
                for placement, shared in zip(need, is_shared, strict=True)
            )
            for need in needs
        ),
        is_shared=is_shared,
        numbers={},
        results=tuple(
            zip(
                zip(*(outs for outs, _ in chosen), strict=True),
                whole_shapes(call),
                strict=True,
            )
        ),
        kind="registered",
    )


def _cheapest(call: Any, options: Sequence[Any], mesh_dim: int) -> Any:
    """The strategy whose operands move the fewest elements."""

    def cost(option: Any) -> float:
        total = 0.0
        for spec, need in zip(call.specs, option[1], strict=True):
            states = _state(spec.placements[mesh_dim]), _state(need)
            moved = moving_cost(*states, math.prod(spec.shape))
            total += math.inf if moved is None else moved
        return total

    best = min(options, key=cost)
    if cost(best) == math.inf:
        raise RuntimeError(
            f"{call.func}: no registered sharding can be reached from "
            f"{[spec.placements for spec in call.specs]}"
        )
    return best


def whole_shapes(call: Any) -> list[tuple[int, ...]]:
    """The whole results' shapes, by the op's rule for them."""
    wholes = [
        torch.empty_strided(s.shape, s.stride, dtype=x.dtype, device="meta")
        for s, x in zip(call.specs, call.locals, strict=True)
    ]
    args, kwargs = call.with_tensors(wholes)
    made = pytree.tree_leaves(call.func(*args, **kwargs))
    return [tuple(x.shape) for x in made if isinstance(x, torch.Tensor)]
