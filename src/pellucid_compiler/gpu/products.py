"""The schedule of ``gemm``: a block computes a tile of 16 by 16 results.

Tiles of both factors go through shared memory; each thread sums its result in ascending
order, floats by fused multiply-adds. The last stored axis numbers columns, of which the
first factor knows nothing, the one before it rows, of which the second knows nothing;
those before are batches.
"""

from __future__ import annotations

from pellucid_compiler.codegen.builder import Value
from pellucid_compiler.codegen.formats import convert, register_type
from pellucid_compiler.codegen.kernel import Gemm, Kernel
from pellucid_compiler.gpu.builder import GpuModule
from pellucid_compiler.gpu.grid import Grid, Shape

TILE = 16
_SUMMED = {"float64": "float64", "float32": "float32"}
_SUMMED |= dict.fromkeys(("float16", "bfloat16"), "float32")
_SUMMED |= dict.fromkeys(("int8", "uint8", "int16", "int32"), "int32")
_SUMMED["int64"] = "int64"


def emit_gemm(module: GpuModule, kernel: Kernel, form: Gemm, shape: Shape) -> None:
    """C, A, B and a bias; the other operands' strides along an axis may be 0."""
    if kernel.outputs[0] not in _SUMMED:
        raise NotImplementedError(f"products of {kernel.outputs[0]}")
    g = Grid(module, kernel, shape)
    f, summed = g.function, _SUMMED[kernel.outputs[0]]
    kind = register_type(summed)
    size = kind.element_bytes
    tiles = [f.shared(TILE * TILE * size) for _ in range(2)]
    rank, named = shape.stored, g.named
    batch_axes = range(rank - 2)
    rows, columns = g.extents((rank - 2, rank - 1))
    reduced = range(rank, shape.axes)
    depth = g.count(reduced)
    own_row, own_column = f.binary("lshr", f.thread(), 4), f.thread() & (TILE - 1)

    def tiles_of(extent: Value) -> Value:
        return f.binary("udiv", extent + (TILE - 1), f.integer(TILE))

    across, down = tiles_of(columns), tiles_of(rows)

    def placed(k: int, start: Value, row: Value, column: Value) -> Value:
        number = g.order[k]
        start = f.offset(start, row * named[f"t{number}_{rank - 2}"])
        return f.offset(start, column * named[f"t{number}_{rank - 1}"])

    def tile(index: Value, _: list[Value]) -> None:
        batch = f.binary("udiv", index, across * down)
        inside = f.binary("urem", index, across * down)
        starts = g.moved(g.pointers, g.coordinates(batch, batch_axes))
        row = f.binary("udiv", inside, across) * TILE + own_row
        column = f.binary("urem", inside, across) * TILE + own_column

        def fetched(k: int, is_inside: Value, step: Value) -> Value:
            def load() -> list[Value]:
                at = placed(k, starts[k], row, column)
                number = g.order[k]
                for axis, place in g.coordinates(step, reduced).items():
                    at = f.offset(at, place * named[f"t{number}_{axis}"])
                return [convert(f, g.load(k, at), g.dtypes[k], summed)]

            return f.branch(is_inside, load, lambda: [f.constant(0, kind)])[0]

        def slot(k: int, line: Value, place: Value) -> Value:
            return f.offset(tiles[k], (line * TILE + place) * size)

        def part(first: Value, carried: list[Value]) -> list[Value]:
            a_step, b_step = first + own_column, first + own_row
            a = fetched(0, (row < rows) & (a_step < depth), a_step)
            b = fetched(1, (column < columns) & (b_step < depth), b_step)
            f.write_shared(a, slot(0, own_row, own_column))
            f.write_shared(b, slot(1, own_row, own_column))
            f.barrier()

            def add(k: Value, total: list[Value]) -> list[Value]:
                x = f.read_shared(slot(0, own_row, k), kind)
                y = f.read_shared(slot(1, k, own_column), kind)
                if kind.is_float:
                    return [f.fma(x, y, total[0])]
                return [x * y + total[0]]

            sums = f.loop(0, f.minimum(depth - first, TILE), 1, carried, add)
            f.barrier()  # before the next part is written
            return sums

        (total,) = f.loop(0, depth, TILE, [f.constant(0, kind)], part)

        def finish() -> None:
            number = g.first_output
            found = total
            if g.first_output > 2:
                bias = g.load(2, placed(2, starts[2], row, column))
                found = found + convert(f, bias, g.dtypes[2], summed)
            g.store(number, placed(number, starts[number], row, column), found, summed)

        f.branch((row < rows) & (column < columns), finish)

    f.loop(f.block(), g.count(batch_axes) * across * down, f.blocks(), [], tile)
    f.ret()
