"""The interpreter of scalar expressions: their meaning, vectorised by NumPy.

Axes are broadcastable index grids, operands are arrays. A checked load out of bounds
raises ``IndexError`` unless an untaken ``select`` guards it. Formats that NumPy lacks
(bfloat16, complex32, 8-bit floats) are stored as arrays of representable values in
their arithmetic dtype. NumPy is imported when something is evaluated, so that tracing
does not need it. Read next: graph.py, whose interpreter calls this per loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from pellucid_compiler.ir.dtypes import (
    arithmetic_dtype,
    is_complex,
    is_float,
    wide_dtype,
)
from pellucid_compiler.ir.expr import (
    LOADS,
    SCALAR_OPS,
    Check,
    Expr,
    load_fill,
    load_index,
)
from pellucid_compiler.ir.float8 import FLOAT8, round_array

_HALF_STEP = 0x7FFF


def storage_dtype(dtype: str) -> str:
    """The NumPy dtype of an array for a tensor of ``dtype``."""
    return dtype if dtype == "float16" else wide_dtype(dtype)


def evaluate(
    e: Expr,
    env: Mapping[str, Any] | None = None,
    axes: Sequence[Any] = (),
    operands: Sequence[Any] = (),
) -> Any:
    """The value of ``e`` over the iteration space that ``axes`` spans, as an array."""
    return Evaluator(env or {}, axes, operands).value(e)


def convert(np: Any, x: Any, dtype: str) -> Any:
    """``x`` converted to ``dtype``, stored in its arithmetic dtype."""
    if dtype == "bool":
        return x != 0
    if dtype == "float16":
        return x.astype("float16").astype("float32")
    if dtype == "bfloat16":
        return round_to_bfloat16(np, x.astype("float32"))
    if dtype == "complex32":
        return round_parts(np, x.astype("complex64"))
    if dtype in FLOAT8:
        return round_array(np, x.real.astype("float32"), dtype)
    if not is_complex(dtype) and x.dtype.kind == "c":
        x = x.real
    if not is_float(dtype) and x.dtype.kind == "f":
        return _float_to_integer(np, x, arithmetic_dtype(dtype))
    return x.astype(arithmetic_dtype(dtype))


def round_to_bfloat16(np: Any, x: Any) -> Any:
    """float32 values rounded to bfloat16, to nearest, ties to even; NaN stays NaN."""
    x = np.ascontiguousarray(x, "float32").reshape(x.shape)
    bits = x.view("uint32")
    rounded = (bits + _HALF_STEP + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(x), x, rounded.astype("uint32").view("float32"))


def round_parts(np: Any, x: Any) -> Any:
    """complex64 values whose parts are rounded to float16."""
    found = np.empty(x.shape, "complex64")
    found.real, found.imag = x.real.astype("float16"), x.imag.astype("float16")
    return found


def _float_to_integer(np: Any, x: Any, dtype: str) -> Any:
    """Truncate; NaN and values out of range become the lowest integer, as on x86."""
    if dtype == "uint64":
        low = _float_to_integer(np, x, "int64")
        high = _float_to_integer(np, x - 2.0**63, "int64") ^ np.int64(-(2**63))
        return np.where(x >= 2.0**63, high, low).astype(dtype)
    wide = "int64" if dtype in ("int64", "uint32") else "int32"
    info = np.iinfo(wide)
    truncated = np.trunc(x.astype("float64"))
    fits = (truncated >= float(info.min)) & (truncated < -float(info.min))
    return np.where(fits, truncated, info.min).astype(wide).astype(dtype)


class Evaluator:
    """Evaluates expressions over one iteration space, sharing common subexpressions.

    Inside a ``select`` with a varying condition, loads are masked: an index out of
    bounds at a point where the branch is not taken is not an error.
    """

    def __init__(
        self, env: Mapping[str, Any], axes: Sequence[Any], operands: Sequence[Any]
    ) -> None:
        import numpy

        self.np: Any = numpy
        self.env, self.axes, self.operands = env, axes, operands
        self.memo: dict[tuple[Expr, int], Any] = {}
        self.masks: list[Any] = [None]

    def value(self, e: Expr, mask: int = 0) -> Any:
        """The value of ``e``; ``mask`` is the number of the condition under which it is
        needed.
        """
        key = (e, mask)
        if key not in self.memo:
            with self.np.errstate(all="ignore"):
                self.memo[key] = self._compute(e, mask)
        return self.memo[key]

    def _compute(self, e: Expr, mask: int) -> Any:
        np = self.np
        if e.op == "const":
            return np.asarray(e.attr, arithmetic_dtype(e.dtype))
        if e.op == "sym":
            return np.asarray(self.env[e.attr]).astype(arithmetic_dtype(e.dtype))
        if e.op == "axis":
            return self.axes[e.attr]
        if e.op == "select":
            return self._select(e, mask)
        if e.op == "with_partials":
            return self.value(e.args[0], mask)
        if e.op == "checked":
            self._require(e, mask)
            return self.value(e.args[0], mask)
        if e.op in LOADS:
            return self._load(e, mask)
        args = [self.value(a, mask) for a in e.args]
        if e.op == "cast":
            return convert(np, args[0], e.dtype)
        if e.op == "bitcast":
            source = args[0].astype(storage_dtype(e.args[0].dtype))
            return np.ascontiguousarray(source).view(e.dtype).reshape(source.shape)
        result = SCALAR_OPS[e.op].evaluate(np, *args)
        return np.asarray(result).astype(arithmetic_dtype(e.dtype), copy=False)

    def _require(self, e: Expr, mask: int) -> None:
        needed, holds = self.masks[mask], self.value(e.args[1], mask)
        if not (holds if needed is None else holds | ~needed).all():
            self.fail(e.attr)

    def fail(self, check: Check) -> NoReturn:
        """Raise the error of a condition that does not hold."""
        raise check.error(check.message)

    def _select(self, e: Expr, mask: int) -> Any:
        condition, first, second = e.args
        chosen = self.value(condition, mask)
        if chosen.ndim == 0:
            return self.value(first if chosen else second, mask)
        a = self.value(first, self._narrow(mask, chosen))
        b = self.value(second, self._narrow(mask, ~chosen))
        return self.np.where(chosen, a, b)

    def _narrow(self, mask: int, condition: Any) -> int:
        outer = self.masks[mask]
        self.masks.append(condition if outer is None else outer & condition)
        return len(self.masks) - 1

    def _load(self, e: Expr, mask: int) -> Any:
        np, operand = self.np, self.operands[e.attr]
        index = [self.value(i, mask) for i in load_index(e)]
        inside: Any = True
        for i, n in zip(index, operand.shape, strict=True):
            if i.size and (i.min() < 0 or i.max() >= n):
                inside = inside & (i >= 0) & (i < n)
        fill = load_fill(e)
        if inside is not True and fill is None:
            self._check(e, index, operand.shape, inside, mask)
        if inside is True:
            found = operand[tuple(index)]
        elif 0 in operand.shape:
            shape = np.broadcast_shapes(*(i.shape for i in index))
            found = np.zeros(shape, operand.dtype)
        else:
            place = (
                np.clip(i, 0, n - 1) for i, n in zip(index, operand.shape, strict=True)
            )
            found = operand[tuple(place)]
        found = np.asarray(found).astype(arithmetic_dtype(e.dtype), copy=False)
        if inside is True or fill is None:
            return found
        return np.where(inside, found, self.value(fill, mask))

    def _check(
        self, e: Expr, index: list[Any], shape: tuple[int, ...], inside: Any, mask: int
    ) -> None:
        np, needed = self.np, self.masks[mask]
        bad = ~inside if needed is None else needed & ~inside
        if not bad.any():
            return
        place = np.unravel_index(int(np.argmax(bad)), bad.shape)
        for dim, (i, n) in enumerate(zip(index, shape, strict=True)):
            at = int(np.broadcast_to(i, bad.shape)[place])
            if not 0 <= at < n:
                raise IndexError(
                    f"index {at} is out of bounds for dimension {dim} with size {n}"
                )
