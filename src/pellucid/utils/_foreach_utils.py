"""Groups tensors for foreach ops; used by optimizers of other libraries."""

from __future__ import annotations

from typing import Any

from pellucid import Tensor

_Groups = dict[tuple[Any, Any], tuple[list[list[Tensor | None]], list[int]]]


def _group_tensors_by_device_and_dtype(
    tensorlistlist: list[list[Tensor | None]], with_indices: bool = False
) -> _Groups:
    """Groups by device and dtype of the first list's tensors: the tensors of every list
    at the same indices, and the indices if requested.
    """
    groups: _Groups = {}
    for index, leading in enumerate(tensorlistlist[0]):
        assert leading is not None
        empty: tuple[list[list[Tensor | None]], list[int]]
        empty = ([[] for _ in tensorlistlist], [])
        lists, indices = groups.setdefault((leading.device, leading.dtype), empty)
        for group, given in zip(lists, tensorlistlist, strict=True):
            if given:
                group.append(given[index])
        if with_indices:
            indices.append(index)
    return groups
