"""Numbers of dtypes and kinds of collectives, as C++ has them."""

from __future__ import annotations

import pellucid as torch

# In the order of core/dtype.h
DTYPES = (
    *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
    *(torch.complex64, torch.complex128),
)
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
