"""``local_map``: a function of local tensors as a function of DTensors."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import pellucid as torch
from pellucid.distributed.tensor._dtensor import DTensor
from pellucid.distributed.tensor.placement_types import Placement
from pellucid.utils import _pytree as pytree

__all__ = ["local_map"]

Placed = Sequence[Placement] | None


def local_map(
    func: Callable[..., Any] | None = None,
    out_placements: Any = None,
    in_placements: tuple[Placed, ...] | None = None,
    in_grad_placements: tuple[Placed, ...] | None = None,
    device_mesh: Any = None,
    *,
    redistribute_inputs: bool = False,
) -> Callable[..., Any]:
    """The function of DTensors that calls ``func`` on their local tensors.

    ``out_placements`` are of its one result, or a tuple of those of each; None for a
    result that is not a tensor. ``in_placements`` are what each argument must have, or
    is moved to with ``redistribute_inputs``; ``in_grad_placements`` are of their
    gradients. Plain tensors are passed on. Without ``func``, a decorator.

    Example::

        rows = local_map(
            torch.mm, [Shard(0)], ([Shard(0)], [Replicate()]), device_mesh=mesh
        )
    """
    if func is None:
        return functools.partial(
            local_map,
            out_placements=out_placements,
            in_placements=in_placements,
            in_grad_placements=in_grad_placements,
            device_mesh=device_mesh,
            redistribute_inputs=redistribute_inputs,
        )

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, form = pytree.tree_flatten(args)
        mesh, has_parts = device_mesh, False
        for name, given in (
            ("in_placements", in_placements),
            ("in_grad_placements", in_grad_placements),
        ):
            if given is not None and len(given) != len(leaves):
                raise AssertionError(
                    f"{name} has {len(given)} entries for {len(leaves)} arguments"
                )
        for k, leaf in enumerate(leaves):
            want = None if in_placements is None else in_placements[k]
            if isinstance(leaf, DTensor):
                mesh, has_parts = mesh or leaf.device_mesh, True
                grads = in_grad_placements[k] if in_grad_placements else None
                leaves[k] = _local(leaf, want, grads, mesh, redistribute_inputs)
            elif isinstance(leaf, torch.Tensor) and want is not None:
                raise AssertionError(
                    f"argument {k} is a plain tensor, and its placements are {want}; "
                    "they should be None"
                )
        result = func(*pytree.tree_unflatten(leaves, form), **kwargs)
        return _placed(result, out_placements, mesh) if has_parts else result

    return mapped


def _local(leaf: Any, want: Placed, grads: Placed, mesh: Any, may_move: bool) -> Any:
    if want is not None and tuple(want) != leaf.placements:
        if not may_move:
            raise ValueError(
                f"arg {leaf} in local_map has a mismatched placements: arg placements "
                f"is {leaf.placements} but the input placements is {tuple(want)}! If "
                "redistribute_inputs is wanted, set redistribute_inputs=True to "
                "local_map."
            )
        leaf = leaf.redistribute(mesh, want)
    return leaf.to_local(grad_placements=grads)


def _placed(result: Any, placements: Any, mesh: Any) -> Any:
    """The results as DTensors."""
    leaves, form = pytree.tree_flatten(result)
    each = placements if isinstance(placements, tuple) else (placements,)
    if len(each) != len(leaves):
        raise AssertionError(
            "local_map requires one PlacementType be provided for each output value, "
            f"received {len(each)} out_placements but {len(leaves)} is expected!"
        )
    made = []
    for leaf, want in zip(leaves, each, strict=True):
        is_tensor = isinstance(leaf, torch.Tensor)
        if is_tensor != (want is not None):
            raise AssertionError(
                f"out_placements are {want} for a result of type {type(leaf).__name__}"
            )
        made.append(
            DTensor.from_local(leaf, mesh, want, run_check=False) if is_tensor else leaf
        )
    return pytree.tree_unflatten(made, form)
