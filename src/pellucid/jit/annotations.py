"""``torch.jit.annotations``: names of types that scripted signatures use.

``BroadcastingList2[int]`` is one number or a list of two. To Python it is a list.
"""

from __future__ import annotations

from typing import List  # noqa: UP035 - the name that programs import from here

__all__ = [
    "BroadcastingList1",
    "BroadcastingList2",
    "BroadcastingList3",
    "List",
]


class _BroadcastingList:
    """Gives ``list[item]``."""

    def __getitem__(self, item: object) -> object:
        return list[item]  # type: ignore[valid-type]


BroadcastingList1 = _BroadcastingList()
BroadcastingList2 = _BroadcastingList()
BroadcastingList3 = _BroadcastingList()
