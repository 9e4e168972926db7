"""Tensors that ``check_programs.py`` draws: shapes, dtypes, values and layouts."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np

DTYPES = (
    *["float32"] * 6,
    *["float64"] * 3,
    *["int64"] * 3,
    *("int32", "uint8", "bool", "complex64", "bfloat16", "float16", "int8", "int16"),
    *("complex128", "uint16", "uint32"),
)
SHAPES = (
    *[(), (3,), (2, 3), (3, 3), (2, 1), (1, 3), (2, 2, 3), (0,), (2, 0)],
    *[(1, 2, 4, 4), (2, 3, 2, 2), (1,), (1, 1), (2, 0, 3)],
)
Layout = Callable[[Any, Any], Any]


def values(draw: random.Random, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Small numbers of this dtype, in float64 or complex128."""
    n = math.prod(shape)
    if dtype in ("int64", "uint8", "uint16", "uint32"):
        flat = [draw.randint(0, 2) for _ in range(n)]
    elif dtype in ("int32", "int8", "int16"):
        flat = [draw.randint(-3, 3) for _ in range(n)]
    elif dtype == "bool":
        flat = [draw.random() < 0.5 for _ in range(n)]
    elif dtype.startswith("complex"):
        parts = values(draw, (2, *shape), "float64")
        return parts[0] + 1j * parts[1] if draw.random() < 0.8 else parts[0]
    else:
        kind = draw.random()
        flat = [round(draw.uniform(-2, 2), 2) for _ in range(n)]
        if kind < 0.15:
            flat = [draw.choice([x, 0.0, 1.0]) for x in flat]
        elif kind < 0.2:
            flat = [draw.choice([x, math.inf, math.nan, -0.0]) for x in flat]
    return np.array(flat, dtype=np.float64).reshape(shape)


def layout(draw: random.Random, shape: tuple[int, ...]) -> Layout:
    """Places a contiguous tensor of this shape in memory in some way; may change its
    shape.
    """
    kind = draw.random()
    if kind < 0.1 and len(shape) > 1:
        return lambda side, x: x.transpose(0, -1)
    if kind < 0.15:
        return lambda side, x: x.expand(2, *shape)
    if kind < 0.2 and 1 in shape:
        dim = shape.index(1)
        return lambda side, x: x.expand([2 if d == dim else -1 for d in range(x.dim())])
    if kind < 0.25 and shape:
        return lambda side, x: side.stack([x, x], -1).flatten(-2)[..., ::2]
    if kind < 0.3:
        return lambda side, x: side.stack([x, x])[1]
    if kind < 0.4 and len(shape) == 4:
        return lambda side, x: x.contiguous(memory_format=side.channels_last)
    return as_drawn


def as_drawn(side: Any, x: Any) -> Any:
    """The layout of contiguous tensors."""
    return x
