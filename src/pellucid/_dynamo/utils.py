"""``torch._dynamo.utils``: counters of compilations."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any, Final

# "frames": compiled callables; "stats": graphs passed to backends and their calls;
# "graph_break": reasons of graph breaks.
counters: Final[defaultdict[str, Counter[str]]] = defaultdict(Counter)


def is_compile_supported(device_type: Any) -> bool:
    """Whether callables on this device are compiled: only on the CPU."""
    return str(device_type).partition(":")[0] == "cpu"


def same(
    ref: Any,
    res: Any,
    fp64_ref: Any = None,
    cos_similarity: bool = False,
    tol: float = 1e-4,
    equal_nan: bool = False,
    **settings: Any,
) -> bool:
    """Whether two results, tensors in any containers, are equal within ``tol``.

    With ``fp64_ref``, the result in float64, ``res`` may instead be about as far from
    it as ``ref``. ``cos_similarity`` compares directions alone.
    """
    from pellucid.utils._pytree import tree_flatten

    (left, form), (right, other) = tree_flatten(ref), tree_flatten(res)
    if form != other:
        return False
    exact = [None] * len(left) if fp64_ref is None else tree_flatten(fp64_ref)[0]
    return all(
        _alike(a, b, e, cos_similarity, tol, equal_nan)
        for a, b, e in zip(left, right, exact, strict=True)
    )


def _alike(
    a: Any, b: Any, exact: Any, cos_similarity: bool, tol: float, equal_nan: bool
) -> bool:
    import pellucid

    if not isinstance(a, pellucid.Tensor):
        return type(a) is type(b) and bool(a == b or (a != a and b != b))
    if not isinstance(b, pellucid.Tensor) or a.shape != b.shape or a.dtype != b.dtype:
        return False
    if cos_similarity:
        flat = a.flatten().double(), b.flatten().double()
        return bool(pellucid.cosine_similarity(*flat, dim=0) >= 0.99)
    if pellucid.allclose(a, b, atol=tol, rtol=tol, equal_nan=equal_nan):
        return True
    if exact is None or not exact.is_floating_point():
        return False
    error, allowed = (
        (exact - x.double()).square().mean().sqrt().item() for x in (b, a)
    )
    return bool(error <= 2 * allowed + tol / 10)
