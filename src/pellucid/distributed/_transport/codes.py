"""The numbers of dtypes and kinds of collectives in C++."""

from __future__ import annotations

from pellucid._tensor.dtype_names import TYPE_NAMES

DTYPES = tuple(TYPE_NAMES)
DTYPE_CODES = {dtype: code for code, dtype in enumerate(DTYPES)}
ITEM_BYTES = tuple(dtype.itemsize for dtype in DTYPES)

# In the order of runtime/distributed/group.h
KINDS = (
    *("barrier", "all_reduce", "reduce", "broadcast", "all_gather", "gather"),
    *("scatter", "reduce_scatter", "all_to_all"),
)
(
    BARRIER,
    ALL_REDUCE,
    REDUCE,
    BROADCAST,
    ALL_GATHER,
    GATHER,
    SCATTER,
    REDUCE_SCATTER,
    ALL_TO_ALL,
) = range(len(KINDS))
