"""Packing: copies blocks of A and B into the order in which output tiles read them.

B becomes panels of some vectors of columns, each with ``k`` contiguous rows, in the
accumulator's dtype. Elements past the last column are undefined and never used. A is
packed like B, transposed. ``gemm.py`` decides whether to pack; narrow dtypes are always
packed. Read next: ``gemm_tile.py``.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable

from pellucid_compiler.codegen.builder import I64, PTR, Function, Module, Value
from pellucid_compiler.codegen.formats import convert, from_memory, memory_type
from pellucid_compiler.codegen.schedules.gemm_tiling import Tiling

# Bytes of a 128-bit lane, within which x86 shuffles are cheap.
_LANE_BYTES = 16

_ROWS_PER_PASS = 4

# The prefetch distance in rows. Rows are on different pages, so the hardware prefetcher
# does not help.
_ROWS_AHEAD = 8

# The prefetch distance for columns contiguous along k, several read at a time.
_BYTES_AHEAD = 128
_LINE_BYTES = 64

LoopBody = Callable[[Value, list[Value]], list[Value]]

_PARAMETERS = [
    ("source", PTR),
    ("target", PTR),
    ("row", I64),
    ("column", I64),
    ("k", I64),
    ("n", I64),
]


def load_wide(
    tiling: Tiling, address: Value, lanes: int, mask: Value | None = None
) -> Value:
    """Stored elements in the accumulator's dtype."""
    f = address.function
    stored = memory_type(tiling.dtype, lanes)
    if mask is None:
        raw = f.load(address, stored)
    else:
        raw = f.masked_load(address, mask, f.constant(0, stored))
    value = from_memory(f, raw, tiling.dtype)
    return convert(f, value, tiling.dtype, tiling.accumulator)


def load_row(
    tiling: Tiling,
    address: Value,
    step: Value,
    mask: Value | None = None,
    count: int | None = None,
) -> Value:
    """One row of a panel: a vector of contiguous columns. If panels hold words,
    ``count`` elements of each (or all) are loaded, ``step`` bytes apart, and the rest
    are zero."""
    if tiling.word == 1:
        return load_wide(tiling, address, tiling.lanes, mask)
    places = [_step(address, step, i) for i in range(count or tiling.word)]
    return word_of(tiling, [load_bits(tiling, at, tiling.lanes, mask) for at in places])


def load_bits(
    tiling: Tiling, address: Value, lanes: int, mask: Value | None = None
) -> Value:
    """Stored elements as integers."""
    f, stored = address.function, memory_type(tiling.dtype, lanes).as_integer()
    if mask is None:
        return f.load(address, stored)
    return f.masked_load(address, mask, f.constant(0, stored))


def word_of(tiling: Tiling, elements: list[Value]) -> Value:
    """Words packed from elements, the first element in the lowest bits."""
    f, bits = elements[0].function, 8 * tiling.stored_bytes
    wide = [f.convert("zext", x, tiling.panel_element.element) for x in elements]
    word = wide[0]
    for i, value in enumerate(wide[1:], 1):
        word = word | (value << (i * bits))
    return word


def _step(address: Value, step: Value, times: int) -> Value:
    return address.function.offset(address, step * times) if times else address


def each_tail(
    f: Function, tiling: Tiling, k: Value, body: Callable[[int], object]
) -> None:
    """Emit ``body(count)`` for the case that the last word of ``k`` is partial, with
    ``count`` elements."""
    left = k & (tiling.word - 1)

    def write(count: int) -> None:
        body(count)

    for count in range(1, tiling.word):
        f.branch(left.equals(count), functools.partial(write, count))


def pack_rows(module: Module, tiling: Tiling, vectors: int) -> Function:
    """Pack B with contiguous columns (``column`` is one element)."""
    f = module.function(f"pack_rows_{vectors}", _PARAMETERS, internal=True)
    source, target, row, _, k, n = f.args
    stored, width, word = tiling.stored_bytes, tiling.lanes * vectors, tiling.word
    row_bytes = vectors * tiling.vector_bytes
    panel_bytes = tiling.panel_rows(k) * row_bytes
    whole = n & -width
    left = n - whole

    def copy_rows(count: int, tail: int | None = None) -> LoopBody:
        """Copy ``count`` rows into all full panels, in the order of the source, whose
        rows are far apart."""

        def into_panel(_: Value, at: list[Value]) -> list[Value]:
            for i in range(count * word if count > 1 else 0):
                later = f.offset(at[0], row * (i + _ROWS_AHEAD * word))
                for line in range(0, vectors * tiling.lanes * stored, 64):
                    f.prefetch(f.offset(later, line))
            for i, j in itertools.product(range(count), range(vectors)):
                here = f.offset(_step(at[0], row, i * word), j * tiling.lanes * stored)
                value = load_row(tiling, here, row, count=tail)
                there = f.offset(at[1], (i * vectors + j) * tiling.vector_bytes)
                f.store(value, there, align=tiling.vector_bytes)
            return [f.offset(at[0], width * stored), f.offset(at[1], panel_bytes)]

        def rows(_: Value, at: list[Value]) -> list[Value]:
            f.loop(0, whole, width, at, into_panel)
            steps = [row * (count * word), f.integer(count * row_bytes)]
            return [f.offset(x, step) for x, step in zip(at, steps, strict=True)]

        return rows

    at = _grouped_rows(f, tiling, k, [source, target], copy_rows)
    each_tail(f, tiling, k, lambda count: copy_rows(1, count)(k, at))

    def narrow_panel() -> None:
        masks = [
            f.first_lanes(left - i * tiling.lanes, tiling.lanes) for i in range(vectors)
        ]

        def one_row(_: Value, at: list[Value], tail: int | None = None) -> list[Value]:
            for i, mask in enumerate(masks):
                here = f.offset(at[0], i * tiling.lanes * stored)
                f.prefetch(f.offset(here, row * (_ROWS_AHEAD * word)))
                value = load_row(tiling, here, row, mask, tail)
                there = f.offset(at[1], i * tiling.vector_bytes)
                f.store(value, there, align=tiling.vector_bytes)
            return [f.offset(at[0], row * word), f.offset(at[1], row_bytes)]

        start = f.offset(source, whole * stored)
        rows = tiling.panel_rows(k)
        end = f.offset(target, whole * (rows * tiling.element_bytes))
        at = f.loop(0, _whole_words(tiling, k), 1, [start, end], one_row)
        each_tail(f, tiling, k, lambda count: one_row(k, at, count))

    f.branch(left > 0, narrow_panel)
    f.ret()
    return f


def pack_panels(module: Module, tiling: Tiling, vectors: int) -> Function:
    """Pack B with contiguous columns into panels of ``width`` columns, whose vectors
    are only partly filled. Each row is copied into all panels before the next: rows are
    far apart, so long reads of one row are faster.
    """
    parameters = [*_PARAMETERS, ("width", I64)]
    f = module.function(f"pack_panels_{vectors}", parameters, internal=True)
    source, target, row, _, k, n, width = f.args
    row_bytes, word = vectors * tiling.vector_bytes, tiling.word
    panel_bytes = tiling.panel_rows(k) * row_bytes

    def copy_rows(count: int, tail: int | None = None) -> LoopBody:
        def into_panel(column: Value, at: list[Value]) -> list[Value]:
            inside = f.minimum(width, n - column)
            masks = [
                f.first_lanes(inside - j * tiling.lanes, tiling.lanes)
                for j in range(vectors)
            ]
            for i, j in itertools.product(range(count), range(vectors)):
                here = _step(at[0], row, i * word)
                here = f.offset(here, j * tiling.lanes * tiling.stored_bytes)
                f.prefetch(f.offset(here, row * (_ROWS_AHEAD * word)))
                value = load_row(tiling, here, row, masks[j], tail)
                there = f.offset(at[1], (i * vectors + j) * tiling.vector_bytes)
                f.store(value, there, align=tiling.vector_bytes)
            steps = [width * tiling.stored_bytes, panel_bytes]
            return [f.offset(x, step) for x, step in zip(at, steps, strict=True)]

        def rows(_: Value, at: list[Value]) -> list[Value]:
            f.loop(0, n, width, at, into_panel)
            steps = [row * (count * word), f.integer(count * row_bytes)]
            return [f.offset(x, step) for x, step in zip(at, steps, strict=True)]

        return rows

    at = _grouped_rows(f, tiling, k, [source, target], copy_rows)
    each_tail(f, tiling, k, lambda count: copy_rows(1, count)(k, at))
    f.ret()
    return f


def _whole_words(tiling: Tiling, k: Value) -> Value:
    shift = tiling.word.bit_length() - 1
    return k.function.binary("lshr", k, shift) if shift else k


def _grouped_rows(
    f: Function,
    tiling: Tiling,
    k: Value,
    at: list[Value],
    copy_rows: Callable[[int], LoopBody],
) -> list[Value]:
    """Copy rows of whole words, several at a time, then one by one; returns the
    addresses after them."""
    rows = _whole_words(tiling, k)
    grouped = rows & -_ROWS_PER_PASS
    at = f.loop(0, grouped, _ROWS_PER_PASS, at, copy_rows(_ROWS_PER_PASS))
    return f.loop(grouped, rows, 1, at, copy_rows(1))


def pack_columns(module: Module, tiling: Tiling, vectors: int) -> Function:
    """Pack B with any strides; a fast transposition if ``row`` is one element."""
    f = module.function(f"pack_columns_{vectors}", _PARAMETERS, internal=True)
    source, target, row, column, k, n = f.args
    stored, lanes, word = tiling.stored_bytes, tiling.lanes, tiling.word
    words = _LANE_BYTES // tiling.element_bytes
    chunk, line = words * word, _LINE_BYTES // stored  # of k
    row_bytes = vectors * tiling.vector_bytes
    k_of_words = k & -word

    def strip(first: Value, at: list[Value]) -> list[Value]:
        """Pack one vector of columns for all k; columns are clamped to the last one."""
        last = n - first - 1
        addresses = [
            f.offset(at[0], column * f.minimum(f.integer(i), last))
            for i in range(lanes)
        ]

        def load_vector(i: int, done: Value) -> Value:
            return load_depth(tiling, f.offset(addresses[i], done * stored))

        def store_chunk(done: Value, there: Value) -> None:
            vectors = transpose_chunk(f, tiling, lambda i: load_vector(i, done))
            for i, value in enumerate(vectors):
                f.store(
                    value, f.offset(there, i * row_bytes), align=tiling.vector_bytes
                )

        def chunk_of_rows(done: Value, out: list[Value]) -> list[Value]:
            store_chunk(done, out[0])
            return [f.offset(out[0], words * row_bytes)]

        def line_of_rows(done: Value, out: list[Value]) -> list[Value]:
            for address in addresses:
                f.prefetch(f.offset(address, done * stored + _BYTES_AHEAD))
            for i in range(0, line, chunk):
                out = chunk_of_rows(done + i, out)
            return out

        in_chunks = row.equals(stored) & (k >= chunk)
        whole = f.select(in_chunks, k & -chunk, 0)
        out = f.loop(0, whole & -line, line, [at[1]], line_of_rows)
        out = f.loop(whole & -line, whole, chunk, out, chunk_of_rows)

        def last_chunk() -> None:
            """Pack the remaining rows, and some earlier ones again, as a whole
            chunk.
            """
            done = k_of_words - chunk
            there = tiling.panel_rows(done) * row_bytes
            store_chunk(done, f.offset(at[1], there))

        f.branch(in_chunks & (whole < k_of_words), last_chunk)
        whole = f.select(in_chunks, k_of_words, whole)

        def single_row(
            done: Value, out: list[Value], tail: int | None = None
        ) -> list[Value]:
            value = f.poison(tiling.panel_vector)
            for i in range(lanes):
                here = f.offset(addresses[i], done * row)
                value = f.insert(value, load_one(tiling, here, row, tail), i)
            f.store(value, out[0], align=tiling.vector_bytes)
            return [f.offset(out[0], row_bytes)]

        f.loop(whole, k_of_words, word, out, single_row)
        end = [f.offset(at[1], tiling.panel_rows(k_of_words) * row_bytes)]
        each_tail(f, tiling, k, lambda count: single_row(k_of_words, end, count))
        return [
            f.offset(at[0], column * lanes),
            _next_strip(f, tiling, first, at[1], tiling.panel_rows(k), vectors),
        ]

    f.loop(0, n, lanes, [source, target], strip)
    f.ret()
    return f


def _next_strip(
    f: Function, tiling: Tiling, first: Value, at: Value, rows: Value, vectors: int
) -> Value:
    """The target of the next vector of columns: adjacent, or in the next panel."""
    panel_bytes = rows * (vectors * tiling.vector_bytes)
    back = (vectors - 1) * tiling.vector_bytes
    columns = tiling.lanes * vectors
    ends = ((first + tiling.lanes) & (columns - 1)).equals(0)
    return f.offset(at, f.select(ends, panel_bytes - back, tiling.vector_bytes))


def load_depth(tiling: Tiling, address: Value, mask: Value | None = None) -> Value:
    """Load 16 bytes of a panel from contiguous k of one column; ``mask`` is per
    element."""
    chunk = _LANE_BYTES // tiling.element_bytes
    if tiling.word == 1:
        return load_wide(tiling, address, chunk, mask)
    bits = load_bits(tiling, address, chunk * tiling.word, mask)
    return address.function.bitcast(bits, tiling.panel_element.with_lanes(chunk))


def load_one(
    tiling: Tiling, address: Value, step: Value, count: int | None = None
) -> Value:
    """Load one element of a panel, or a word of ``count`` elements ``step`` bytes
    apart."""
    if tiling.word == 1:
        return load_wide(tiling, address, 1)
    places = [_step(address, step, i) for i in range(count or tiling.word)]
    return word_of(tiling, [load_bits(tiling, at, 1) for at in places])


def transpose_chunk(
    f: Function, tiling: Tiling, load: Callable[[int], Value]
) -> list[Value]:
    """Rows of B from chunks of its columns.

    ``load(i)`` is 16 bytes of column ``i``: ``chunk`` elements. Vector ``q`` first
    receives columns ``q, q + chunk, ...``, one per 128-bit lane; transposing within
    each lane of the ``chunk`` vectors then leaves row ``p`` in vector ``p``.
    """
    chunk = _LANE_BYTES // tiling.element_bytes
    num_lanes = tiling.lanes // chunk
    vectors = []
    for q in range(chunk):
        parts = [load(q + lane * chunk) for lane in range(num_lanes)]
        vectors.append(_concatenate(f, parts))
    num_stages = chunk.bit_length() - 1
    for _ in range(num_stages):
        pairs = zip(vectors[: chunk // 2], vectors[chunk // 2 :], strict=True)
        vectors = [v for a, b in pairs for v in _interleave(f, a, b, chunk)]
    return vectors


def _concatenate(f: Function, parts: list[Value]) -> Value:
    while len(parts) > 1:
        parts = [
            f.shuffle(low, high, range(2 * low.type.lanes))
            for low, high in zip(parts[::2], parts[1::2], strict=True)
        ]
    return parts[0]


def _interleave(f: Function, a: Value, b: Value, chunk: int) -> tuple[Value, Value]:
    """Interleave ``a`` and ``b`` within every lane of ``chunk`` elements: the lower
    halves of the lanes, and the upper halves."""
    total = a.type.lanes
    low = [
        element + from_b
        for lane in range(0, total, chunk)
        for element in range(lane, lane + chunk // 2)
        for from_b in (0, total)
    ]
    return f.shuffle(a, b, low), f.shuffle(a, b, [i + chunk // 2 for i in low])
