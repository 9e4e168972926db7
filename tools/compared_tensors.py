"""Differences between tensors of PyTorch and ours, for ``check_programs.py``: values,
dtype, shape, gradients, whether they are views, and which share memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

import pellucid

SIDES = (torch, pellucid)
TOLERANCE = {
    **dict.fromkeys(("float32", "complex64"), 2e-5),
    **dict.fromkeys(("float64", "complex128"), 1e-10),
    "float16": 4e-3,
    "bfloat16": 3e-2,
}


def flat(result: Any) -> Iterator[Any]:
    if isinstance(result, (list, tuple)):
        for item in result:
            yield from flat(item)
    else:
        yield result


def holds_values(item: Any) -> bool:
    return not is_tensor(item) or item.numel() > 0


def is_tensor(item: Any) -> bool:
    return isinstance(item, (torch.Tensor, pellucid.Tensor))


def array_of(tensor: Any, side: Any) -> np.ndarray:
    tensor = tensor.detach()
    if tensor.layout != side.strided:
        tensor = tensor.to_dense()
    if side is torch:
        tensor = tensor.resolve_conj().resolve_neg()
    if tensor.dtype in (side.bfloat16, side.float16):
        tensor = tensor.to(side.float64)
    if tensor.dtype == side.complex32:
        tensor = tensor.to(side.complex128)
    # Of a copy: numpy() forbids the resizing of a tensor from then on.
    return tensor.clone().numpy(force=True)


def close(
    a: np.ndarray, b: np.ndarray, dtype: str, tolerance: float | None = None
) -> bool:
    if a.dtype.kind in "biu":
        return bool(np.array_equal(a, b))
    tolerance = max(tolerance or 0.0, TOLERANCE.get(dtype, 1e-4))
    with np.errstate(all="ignore"):
        finite = np.abs(a[np.isfinite(a)])
        scale = max(1.0, float(finite.max())) if finite.size else 1.0
        if a.dtype.kind == "c":
            return all(
                np.allclose(
                    x, y, rtol=tolerance, atol=tolerance * scale, equal_nan=True
                )
                for x, y in ((a.real, b.real), (a.imag, b.imag))
            )
        return bool(
            np.allclose(a, b, rtol=tolerance, atol=tolerance * scale, equal_nan=True)
        )


def aliased(results: list[Any], pool: list[Any]) -> list[list[int]]:
    """For every result, the tensors of the pool with which it shares elements."""
    storages = [x.untyped_storage().data_ptr() for x in pool]
    return [
        [
            k
            for k, x in enumerate(pool)
            if is_tensor(r)
            and storages[k]
            and r.untyped_storage().data_ptr() == storages[k]
            and not addresses(r).isdisjoint(addresses(x))
        ]
        for r in results
    ]


def addresses(tensor: Any) -> set[int]:
    """Where the bytes of the elements are."""
    places = np.zeros(tuple(tensor.shape), np.int64)
    for n, stride, index in zip(
        tensor.shape, tensor.stride(), np.indices(tensor.shape), strict=True
    ):
        places += index * stride if n else 0
    size, start = tensor.element_size(), tensor.data_ptr()
    return {start + int(p) * size + b for p in places.flat for b in range(size)}


def short(*pair: Any) -> str:
    """Both results in one line, as far as they can be printed."""
    if any(x is None or not is_tensor(x) or x.numel() > 24 for x in pair):
        return ""
    return " | ".join(
        str(array_of(x, s).tolist()) for x, s in zip(pair, SIDES, strict=True)
    )


def asked(tensor: Any, name: str) -> Any:
    try:  # views of several results raise once their base is written
        return getattr(tensor, name)
    except RuntimeError as error:
        return type(error).__name__


def has_gradients(theirs: Any) -> bool:
    """Whether a result of PyTorch can have a gradient: not if it consists of integers,
    which it nevertheless marks when they are written in place, nor if PyTorch lacks the
    derivative.
    """
    if not theirs.is_floating_point() and not theirs.is_complex():
        return False
    node = asked(theirs, "grad_fn")
    return not getattr(node, "name", str)().endswith("NotImplemented")


def difference(
    theirs: Any,
    ours: Any,
    is_alone: bool = False,
    accuracy: str = "",
    tolerance: float | None = None,
) -> str:
    """The difference between PyTorch's result and ours; empty if there is none.
    ``is_alone``: nothing else uses its memory. ``accuracy``: the dtype whose rounding
    is allowed, by default the result's own.
    """
    if is_tensor(theirs) != is_tensor(ours):
        return f"type {type(theirs).__name__} | {type(ours).__name__}"
    if not is_tensor(theirs):
        both = isinstance(theirs, float) and isinstance(ours, float)
        if both and (math.isclose(theirs, ours, rel_tol=1e-5) or theirs != theirs):
            return ""
        return "" if str(theirs) == str(ours) else f"value {theirs!r} | {ours!r}"[:80]
    dtypes = [str(x.dtype).rpartition(".")[2] for x in (theirs, ours)]
    if dtypes[0] != dtypes[1]:
        return f"dtype {dtypes[0]} | {dtypes[1]}"
    shapes = [tuple(x.shape) for x in (theirs, ours)]
    if shapes[0] != shapes[1]:
        return f"shape {shapes[0]} | {shapes[1]}"
    for ask in ("requires_grad", "is_leaf") if has_gradients(theirs) else ():
        answers = [asked(x, ask) for x in (theirs, ours)]
        if answers[0] != answers[1]:
            return f"{ask} {answers[0]} | {answers[1]}"
    is_hidden = is_alone and not ours._is_view()
    if theirs._is_view() != ours._is_view() and not is_hidden:
        return f"_is_view {theirs._is_view()} | {ours._is_view()}"
    arrays = [array_of(x, s) for x, s in zip((theirs, ours), SIDES, strict=True)]
    return "" if close(*arrays, accuracy or dtypes[0], tolerance) else "values"


def copied(pool: list[Any]) -> list[np.ndarray]:
    return [array_of(x, torch).copy() for x in pool]
