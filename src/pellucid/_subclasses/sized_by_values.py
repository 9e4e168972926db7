"""Results whose sizes depend on values: which dimensions do, and up to what size.

Found by running the op on a few tensors with data; called by ``fake_tensor.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.utils import _pytree as pytree
from pellucid.utils._symbolic.environment import INFINITY

__all__ = ["has_masks", "open_sizes"]

_Shapes = list[tuple[int, ...]]


def has_masks(func: Any, args: Any) -> bool:
    """Whether it is an indexing by masks, which select as many elements as are set."""
    return func is pellucid.ops.aten.index.Tensor and any(
        index is not None and index.dtype in (pellucid.bool, pellucid.uint8)
        for index in args[1]
    )


def open_sizes(
    func: Any, args: Any, kwargs: Any
) -> tuple[list[Tensor], dict[tuple[int, ...], tuple[list[tuple[int, int]], int]]]:
    """An example of the results, and the places (result, dimension) of each size that
    depends on values, with its maximum.
    """
    results: list[list[Tensor]] = []
    for fill in _fills(args, kwargs):
        if len(results) >= 3 and _varying(results):
            break
        given = pytree.tree_map_only(Tensor, fill, (args, kwargs))
        try:
            made = func(*given[0], **given[1])
        except (IndexError, RuntimeError):
            continue  # not an argument that it takes
        results.append(pytree.tree_leaves(made))
    sizes: dict[tuple[int, ...], tuple[list[tuple[int, int]], int]] = {}
    for place, seen in _varying(results).items():
        is_bounded = len(seen) < 3 or len(seen) > 3 or seen[2] <= seen[1]
        limit = max(seen) if is_bounded else INFINITY
        sizes.setdefault(seen, ([], limit))[0].append(place)
    return results[0], sizes


def _fills(args: Any, kwargs: Any) -> Iterator[Callable[[Tensor], Tensor]]:
    """Tensors with data for those without: of one number, then of different ones. Where
    there are masks, they alone vary.
    """
    leaves = pytree.tree_leaves((args, kwargs))
    masks = {
        id(x) for x in leaves if isinstance(x, Tensor) and x.dtype == pellucid.bool
    }

    def filled(number: int, tensor: Tensor) -> Tensor:
        value = 0 if masks and id(tensor) not in masks else number
        return pellucid.full(tensor.size(), value, dtype=tensor.dtype)

    def counted(tensor: Tensor) -> Tensor:
        count = tensor.numel()
        return pellucid.arange(count).reshape(tensor.size()).to(tensor.dtype)

    for number in (0, 1, 2):
        yield partial(filled, number)
    yield counted


def _varying(results: list[list[Tensor]]) -> dict[tuple[int, int], tuple[int, ...]]:
    """The sizes that are not the same in all results."""
    found = {}
    for index, tensor in enumerate(results[0]):
        for dim in range(tensor.dim()):
            seen = tuple(made[index].shape[dim] for made in results)
            if len(set(seen)) > 1:
                found[index, dim] = seen
    return found
