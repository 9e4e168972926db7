"""Converts logged numbers, arrays and tensors to NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

import pellucid


def as_array(x: Any) -> np.ndarray[Any, Any]:
    """The values as an array; a Python number becomes shape (1,).

    Types that NumPy lacks (bfloat16, float8) become float32, which holds them exactly.
    Raises NotImplementedError for anything else, and for tensors on "meta".
    """
    if isinstance(x, np.ndarray):
        return x
    if np.isscalar(x):
        return np.array([x])
    if not isinstance(x, pellucid.Tensor):
        raise NotImplementedError(
            f"expected a number, a NumPy array or a tensor, given {type(x)}"
        )
    if x.device.type == "meta":
        raise NotImplementedError(
            'a tensor on the device "meta" has no values that could be logged'
        )
    x = x.detach().cpu().resolve_conj().resolve_neg()
    floats = (pellucid.float16, pellucid.float32, pellucid.float64)
    if x.is_floating_point() and x.dtype not in floats:
        x = x.to(pellucid.float32)
    array: np.ndarray[Any, Any] = x.numpy()
    return array
