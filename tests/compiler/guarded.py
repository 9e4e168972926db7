"""Kernels of every form on operands between inaccessible pages.

    python -m tests.compiler.guarded

Each operand is at the very end, then at the very start, of memory whose adjacent pages
are inaccessible, so that an access outside ends the process with a signal. Widths
exceed every vector length, so that full and partial vectors touch the borders. Run in a
process of its own by test_bounds.py.
"""

import ctypes
import mmap
import sys

import numpy as np

from pellucid_compiler.codegen.kernel import (
    Kernel,
    Map,
    Nest,
    Reduce,
    RowAdd,
    RowMap,
    RowReduce,
    Rows,
    RowStore,
    Scan,
    Store,
)
from pellucid_compiler.ir.expr import axis, cast, load, make, padded_load, sym
from tests.compiler.gemm_call import call_gemm
from tests.compiler.support import RUNNABLE, call

DTYPES = ("uint8", "float16", "float32", "float64")
WIDTHS = (1, 3, 8, 15, 17, 33, 64, 70, 129)
PAGE = mmap.PAGESIZE
_libc = ctypes.CDLL(None, use_errno=True)
_kept = []


def between_pages(array, at_end):
    """A copy of a C-contiguous array next to an inaccessible page."""
    inner = -(-max(array.nbytes, 1) // PAGE) * PAGE
    region = mmap.mmap(-1, inner + 2 * PAGE)
    place = ctypes.addressof(ctypes.c_char.from_buffer(region))
    for closed in (place, place + PAGE + inner):
        if _libc.mprotect(ctypes.c_void_p(closed), PAGE, 0):
            raise OSError(ctypes.get_errno(), "mprotect")
    _kept.append(region)
    offset = PAGE + (inner - array.nbytes if at_end else 0)
    copy = np.frombuffer(region, array.dtype, array.size, offset).reshape(array.shape)
    copy[...] = array
    return copy


def operands(dtype, rows, width, at_end):
    """A matrix by rows, by columns, and with a step between elements."""
    base = np.ones((rows, 2 * width), dtype)
    yield between_pages(base[:, :width], at_end)
    yield between_pages(np.ascontiguousarray(base[:, :width].T), at_end).T
    yield (
        between_pages(base, at_end)[:, 1::2]
        if at_end
        else between_pages(base, at_end)[:, ::2]
    )


def strides_of(arrays, order):
    return [
        s for a in arrays for s in (a.strides if order == "rows" else a.strides[::-1])
    ]


def run_maps(dtype, rows, width, at_end, target):
    wide = "float32" if dtype == "float16" else dtype
    x, y = cast(load(0, (), dtype), wide), cast(load(1, (), dtype), wide)
    values = [cast(x + y, dtype)]
    if dtype.startswith("float"):
        values.append(cast(make("exp", x) / y, dtype))
    for value in values:
        kernel = Kernel(Map((value,)), (dtype, dtype), (dtype,))
        for a, b, out in zip(
            *(operands(dtype, rows, width, at_end) for _ in "abc"), strict=True
        ):
            arrays = [out, a, b]
            sizes = [width, rows]
            assert (
                call(
                    kernel,
                    [out],
                    [a, b],
                    sizes,
                    strides_of(arrays, "columns"),
                    (),
                    target,
                )
                == 0
            )


def run_reductions(dtype, rows, width, at_end, target):
    wide = "float32" if dtype == "float16" else dtype
    kernel = Kernel(Reduce(load(0, (), dtype), "sum", wide), (dtype,), (wide,))
    for x in operands(dtype, rows, width, at_end):
        for view in (x, x.T):
            out = between_pages(np.zeros(view.shape[0], wide), at_end)
            strides = [out.strides[0], 0, *view.strides]
            assert call(kernel, [out], [view], view.shape, strides, (), target) == 0
    scan = Kernel(Scan(load(0, (), dtype), "sum", wide), (dtype,), (dtype,))
    for x, out in zip(
        *(operands(dtype, rows, width, at_end) for _ in "ab"), strict=True
    ):
        for a, b in ((x, out), (x.T, out.T)):
            assert (
                call(scan, [b], [a], a.shape, [*b.strides, *a.strides], (), target) == 0
            )


def run_row_passes(dtype, rows, width, at_end, target):
    if not dtype.startswith("float"):
        return
    wide = "float32" if dtype == "float16" else dtype
    x = cast(load(0, (), dtype), wide)
    e = make("exp", x - sym("r0", wide))
    passes = (
        RowReduce(x, "max", wide),
        RowReduce(e, "sum", wide),
        RowMap(cast(e / sym("r1", wide), dtype), 0),
        RowStore(cast(sym("r1", wide), dtype), 1),
        RowAdd(e, 2),
    )
    kernel = Kernel(Rows(passes), (dtype,), (dtype, dtype, wide))
    for a, out in zip(
        *(operands(dtype, rows, width, at_end) for _ in "ab"), strict=True
    ):
        number = between_pages(np.zeros(rows, dtype), at_end)
        total = between_pages(np.zeros(width, wide), at_end)
        strides = [*out.strides[::-1], 0, number.strides[0], total.strides[0], 0]
        strides += a.strides[::-1]
        outputs = [out, number, total]
        assert call(kernel, outputs, [a], [width, rows], strides, (), target) == 0


def run_nests(dtype, rows, width, at_end, target):
    row, column = axis(0), axis(1)
    nothing = cast(0, dtype)
    values = [load(0, (row, column), dtype)]
    for place in (column - 1, column * 2 - 1, column * 3, 5 - column):
        values.append(padded_load(0, (row, place), nothing, dtype))
    for value in values:
        dims = frozenset((k, dim) for k in (0, 1) for dim in (0, 1))
        store = Store((row, column), value)
        form = Nest(2, (2, 2), (store,), proved=dims)
        kernel = Kernel(form, (dtype,), (dtype,))
        for a, out in zip(
            *(operands(dtype, rows, width, at_end) for _ in "ab"), strict=True
        ):
            sizes = [0, rows, width, *out.shape, *a.shape]
            strides = [*out.strides, *a.strides]
            assert call(kernel, [out], [a], sizes, strides, (), target) == 0


def run_products(dtype, rows, width, at_end, target):
    if dtype not in ("float32", "float64"):
        return
    for a, b, out in zip(
        operands(dtype, rows, width, at_end),
        operands(dtype, width, rows + 2, at_end),
        operands(dtype, rows, rows + 2, at_end),
        strict=True,
    ):
        call_gemm(target.name, out, a, b)


FORMS = (run_maps, run_reductions, run_row_passes, run_nests, run_products)


def main():
    for form in FORMS:
        for target in RUNNABLE:
            for dtype in DTYPES:
                for width in WIDTHS:
                    for at_end in (True, False):
                        print(
                            form.__name__,
                            target.name,
                            dtype,
                            width,
                            at_end,
                            file=sys.stderr,
                            flush=True,
                        )
                        form(dtype, 3, width, at_end, target)
                        _kept.clear()


if __name__ == "__main__":
    main()
