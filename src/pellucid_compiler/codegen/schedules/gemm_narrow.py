"""The epilogue of GEMM for narrow dtypes: adds the bias to the sums and rounds to C.

float16, bfloat16 and small integers are accumulated in a wider dtype, in a block of the
workspace, and rounded once. ``gemm.py`` calls the function per block of C. Read next:
``gemm_tile.py``.
"""

from __future__ import annotations

from pellucid_compiler.codegen.builder import I64, PTR, Function, Module, Type, Value
from pellucid_compiler.codegen.formats import convert, to_memory
from pellucid_compiler.codegen.schedules.gemm_pack import load_wide
from pellucid_compiler.codegen.schedules.gemm_tiling import Tiling

_PARAMETERS: list[tuple[str, Type]] = [
    ("sums", PTR),
    ("c", PTR),
    ("c_row", I64),
    ("bias", PTR),
    ("bias_row", I64),
    ("bias_column", I64),
    ("m", I64),
    ("n", I64),
]


def round_function(module: Module, tiling: Tiling) -> Function:
    """Emit ``C[m, n] = sums (+ bias)``; rows of sums are ``tiling.columns`` long."""
    f = module.function("round_sums", _PARAMETERS, internal=True)
    sums, c, c_row, bias, bias_row, bias_column, m, n = f.args
    has_bias = bias.differs(Value(f, "null", PTR))
    is_vector = bias_column.differs(0)

    def vector(at: list[Value], mask: Value | None) -> None:
        value = f.load(at[0], tiling.vector)

        def splat_bias() -> list[Value]:
            return [f.splat(load_wide(tiling, at[2], 1), tiling.lanes)]

        def load_bias() -> list[Value]:
            return [load_wide(tiling, at[2], tiling.lanes, mask)]

        def add_bias() -> list[Value]:
            return [f.add(value, f.branch(is_vector, load_bias, splat_bias)[0])]

        (value,) = f.branch(has_bias, add_bias, lambda: [value])
        value = convert(f, value, tiling.accumulator, tiling.dtype)
        _store(to_memory(f, value, tiling.dtype), at[1], mask)

    def row(_: Value, at: list[Value]) -> list[Value]:
        def whole(_: Value, at: list[Value]) -> list[Value]:
            vector(at, None)
            steps = [
                f.integer(tiling.vector_bytes),
                f.integer(tiling.lanes * tiling.stored_bytes),
                bias_column * tiling.lanes,
            ]
            return [f.offset(x, step) for x, step in zip(at, steps, strict=True)]

        end = f.loop(0, n & -tiling.lanes, tiling.lanes, at, whole)
        left = n & (tiling.lanes - 1)
        mask = f.first_lanes(left, tiling.lanes)
        f.branch(left > 0, lambda: vector(end, mask))
        sums_row = tiling.columns * tiling.element_bytes
        steps = [f.integer(sums_row), c_row, bias_row]
        return [f.offset(x, step) for x, step in zip(at, steps, strict=True)]

    f.loop(0, m, 1, [sums, c, bias], row)
    f.ret()
    return f


def _store(value: Value, address: Value, mask: Value | None) -> None:
    if mask is None:
        value.function.store(value, address)
    else:
        value.function.masked_store(value, address, mask)
