"""How a schedule reads and writes runs of elements: whole, partial, or strided.

A partial run is masked if the processor has masks for the element's width; otherwise it
is loaded element by element through the stack, like strided runs, and stored in parts.
Nothing outside the run is accessed. Used by every schedule. Read next:
``schedules/map.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pellucid_compiler.codegen.builder import I64, PTR, Function, Module, Type, Value
from pellucid_compiler.codegen.emit import Emitter, parameter_value
from pellucid_compiler.codegen.formats import from_memory, memory_type, to_memory
from pellucid_compiler.codegen.kernel import Kernel, Nest, parameter_number
from pellucid_compiler.codegen.targets.x86 import Target
from pellucid_compiler.ir.expr import Expr


@dataclass(frozen=True)
class Entry:
    """A kernel's function, its four arguments, and values that every form needs."""

    function: Function
    kernel: Kernel
    target: Target
    data: Value
    sizes: Value
    strides: Value
    params: Value

    def size(self, number: int) -> Value:
        return self.function.load(self.function.offset(self.sizes, 8 * number), I64)

    def stride(self, number: int) -> Value:
        return self.function.load(self.function.offset(self.strides, 8 * number), I64)

    def pointers(self) -> list[Value]:
        """The pointers of the operands: inputs by their load numbers, then outputs."""
        f, outputs = self.function, len(self.kernel.outputs)
        places = [f.offset(self.data, 8 * k) for k in range(outputs + self.num_inputs)]
        found = [self._bounded(k, f.load(p, PTR)) for k, p in enumerate(places)]
        return found[outputs:] + found[:outputs]

    def _bounded(self, number: int, pointer: Value) -> Value:
        """The pointer of an operand, outputs first, with its region in checked mode."""
        form, outputs = self.kernel.form, self.kernel.outputs
        dtype = (*outputs, *self.kernel.inputs)[number]

        def box() -> list[tuple[Value, Value]]:
            first_size, rank, stride = 0, 2, 2 * number
            if isinstance(form, Nest):
                ranks = form.operand_ranks
                rank, stride = ranks[number], sum(ranks[:number])
                first_size = 1 + max(form.rank, 1) + stride
            return [
                (self.size(first_size + d), self.stride(stride + d))
                for d in range(rank)
            ]

        width = memory_type(dtype).element_bytes
        return self.function.bounded(pointer, number, width, box)

    def operand_strides(self, number: int, rank: int) -> list[Value]:
        """Stride ``number`` of each operand, in the order of ``pointers``."""
        outputs = len(self.kernel.outputs)
        order = [*range(outputs, outputs + self.num_inputs), *range(outputs)]
        return [self.stride(k * rank + number) for k in order]

    @property
    def num_inputs(self) -> int:
        return len(self.kernel.inputs)

    @property
    def dtypes(self) -> list[str]:
        """The operands' dtypes in the order of ``pointers``."""
        return [*self.kernel.inputs, *self.kernel.outputs]

    def uniform(self) -> Emitter:
        """The emitter of expressions that are uniform over the call."""

        def parameter(e: Expr) -> Value:
            number = parameter_number(e)
            stored = self.kernel.params[number]
            if stored != e.dtype:
                raise ValueError(f"parameter {e} is {stored}, its sym {e.dtype}")
            return parameter_value(self.function, self.params, number, stored)

        return Emitter(self.function, 1, parameter)


def open_kernel(module: Module, kernel: Kernel, target: Target) -> Entry:
    """Begin the kernel's function."""
    names = ("data", "sizes", "strides", "params")
    function = module.function("kernel", [(name, PTR) for name in names], I64)
    return Entry(function, kernel, target, *function.args)


def has_masked_access(target: Target, dtype: str) -> bool:
    return target.has_masks or memory_type(dtype).element_bits >= 32


def _copy_function(module: Module, bits: int, lanes: int) -> Function:
    """``copy(source, its stride, target, its stride, count)`` of elements this wide.

    Runs of ``lanes`` elements that are dense on both sides, possibly reversed on one,
    are one load and one store: loading a vector that was just stored element by element
    stalls until all of it is in the cache.
    """
    element = Type(f"i{bits}")
    f = module.function(
        f"copy{bits}x{lanes}",
        [("s", PTR), ("s_step", I64), ("t", PTR), ("t_step", I64), ("count", I64)],
        internal=True,
    )
    source, source_step, target, target_step, count = f.args
    width = element.element_bytes

    def one(index: Value, _: list[Value]) -> None:
        value = f.load(f.offset(source, index * source_step), element)
        f.store(value, f.offset(target, index * target_step))

    def each() -> None:
        f.loop(0, count, 1, [], one)

    def reversed_run() -> None:
        ends = [
            f.select(step.equals(width), end, f.offset(end, -width * (lanes - 1)))
            for end, step in ((source, source_step), (target, target_step))
        ]
        run = f.load(ends[0], element.with_lanes(lanes))
        f.store(_reversed(f, run), ends[1])

    if lanes > 1:
        is_dense = (source_step * target_step).equals(-width * width)
        is_dense = is_dense & (source_step.equals(width) | target_step.equals(width))
        f.branch(is_dense & count.equals(lanes), reversed_run, each)
    else:
        each()
    f.ret()
    return f


def copy_elements(f: Function, dtype: str, lanes: int, *args: Value) -> None:
    """Copy a strided run, mostly of ``lanes``: source, its stride, target, its stride,
    count.
    """
    bits = memory_type(dtype).element_bits
    copy = f.module.shared(
        f"copy{bits}x{lanes}", lambda: _copy_function(f.module, bits, lanes)
    )
    f.call(copy, *args)


def load_run(
    f: Function,
    target: Target,
    pointer: Value,
    dtype: str,
    lanes: int,
    count: Value | None = None,
) -> Value:
    """``lanes`` consecutive elements, or the first ``count`` of them and zeros."""
    raw = memory_type(dtype, lanes)
    if count is None:
        value = f.load(pointer, raw)
    elif has_masked_access(target, dtype):
        mask = f.first_lanes(count, lanes)
        value = f.masked_load(pointer, mask, f.constant(0, raw))
    else:
        step = f.integer(raw.element_bytes)
        (value,) = f.branch(
            count >= lanes,
            lambda: [f.load(pointer, raw)],
            lambda: [_gather(f, pointer, step, dtype, lanes, count)],
        )
    return from_memory(f, value, dtype)


def load_lanes(
    f: Function, pointer: Value, step: Value, mask: Value, dtype: str
) -> Value:
    """The elements under ``mask``, ``step`` bytes apart, and zeros.

    The step is known only at run time: dense elements, also reversed, and every second
    one are loaded whole; others are gathered, except elements of less than four bytes.
    """
    lanes = mask.type.lanes
    raw = memory_type(dtype, lanes)
    width, zero = raw.element_bytes, f.constant(0, raw)
    if raw.element_bits < 32:
        return from_memory(f, f.masked_load(pointer, mask, zero), dtype)

    def backwards() -> Value:
        first = f.offset(pointer, -width * (lanes - 1))
        return _reversed(f, f.masked_load(first, _reversed(f, mask), zero))

    def repeated() -> Value:
        """One element for all lanes, read if any lane is active."""
        count = f.select(f.any_lane(mask), f.integer(1), f.integer(0))
        one = f.masked_load(pointer, f.first_lanes(count, lanes), zero)
        return f.select(mask, f.splat(f.extract(one, 0), lanes), zero)

    ways: list[tuple[int, Callable[[], Value]]] = [
        (width, lambda: f.masked_load(pointer, mask, zero)),
        (0, repeated),
        (2 * width, lambda: _load_second(f, pointer, mask, zero)),
        (-width, backwards),
    ]

    def from_branch(number: int) -> list[Value]:
        if number == len(ways):
            return [f.gather(pointer, _lane_offsets(f, lanes, step), mask, zero)]
        bytes_apart, load = ways[number]
        return f.branch(
            step.equals(bytes_apart), lambda: [load()], lambda: from_branch(number + 1)
        )

    (value,) = from_branch(0)
    return from_memory(f, value, dtype)


def load_scattered(
    f: Function, pointer: Value, offsets: Value, mask: Value, dtype: str
) -> Value:
    """The elements under ``mask`` at ``offsets`` bytes past ``pointer``, and zeros.

    If all lanes are active, they are loaded one by one: on the processors measured, a
    gather takes as long, five cycles per element.
    """
    raw = memory_type(dtype, offsets.type.lanes)
    zero = f.constant(0, raw)

    def each() -> Value:
        found = zero
        for lane in range(offsets.type.lanes):
            place = f.offset(pointer, f.extract(offsets, lane))
            found = f.insert(found, f.load(place, raw.with_lanes(1)), lane)
        return found

    (value,) = f.branch(
        f.any_lane(~mask),
        lambda: [f.gather(pointer, offsets, mask, zero)],
        lambda: [each()],
    )
    return from_memory(f, value, dtype)


def store_lanes(
    f: Function, value: Value, pointer: Value, step: Value, mask: Value, dtype: str
) -> None:
    """Store the lanes under ``mask``, of four bytes or more, ``step`` bytes apart."""
    raw = to_memory(f, value, dtype)
    lanes, width = mask.type.lanes, raw.type.element_bytes

    def apart() -> None:
        f.scatter(raw, pointer, _lane_offsets(f, lanes, step), mask)

    def other() -> None:
        f.branch(
            step.equals(2 * width), lambda: _store_second(f, raw, pointer, mask), apart
        )

    f.branch(step.equals(width), lambda: store_under(f, raw, pointer, mask), other)


def _lane_offsets(f: Function, lanes: int, step: Value) -> Value:
    return f.lane_numbers(I64.with_lanes(lanes)) * step


def _reversed(f: Function, value: Value) -> Value:
    return f.shuffle(value, None, range(value.type.lanes - 1, -1, -1))


def _spread(f: Function, value: Value, other: Value, first: int) -> Value:
    """Half of the lanes, from ``first`` on, interleaved with lanes of ``other``."""
    lanes = value.type.lanes
    pairs = [(first + lane, lanes) for lane in range(lanes // 2)]
    return f.shuffle(value, other, [lane for pair in pairs for lane in pair])


def _load_second(f: Function, pointer: Value, mask: Value, zero: Value) -> Value:
    """Every second element: two whole loads, from which a shuffle selects half."""
    lanes = mask.type.lanes
    unset = f.constant(False, mask.type)
    halves = []
    for first in (0, lanes // 2):
        place = f.offset(pointer, first * 2 * zero.type.element_bytes)
        halves.append(f.masked_load(place, _spread(f, mask, unset, first), zero))
    return f.shuffle(halves[0], halves[1], range(0, 2 * lanes, 2))


def _store_second(f: Function, raw: Value, pointer: Value, mask: Value) -> None:
    lanes = mask.type.lanes
    unset, zero = f.constant(False, mask.type), f.constant(0, raw.type)
    for first in (0, lanes // 2):
        place = f.offset(pointer, first * 2 * raw.type.element_bytes)
        f.masked_store(
            _spread(f, raw, zero, first), place, _spread(f, mask, unset, first)
        )


def _gather(
    f: Function, pointer: Value, stride: Value, dtype: str, lanes: int, count: Value
) -> Value:
    raw = memory_type(dtype, lanes)
    tile = f.stack(raw.element_bytes * lanes)
    f.store(f.constant(0, raw), tile)
    width = f.integer(raw.element_bytes)
    copy_elements(f, dtype, 1, pointer, stride, tile, width, count)
    return f.load(tile, raw)


def store_run(
    f: Function,
    target: Target,
    value: Value,
    pointer: Value,
    dtype: str,
    count: Value | None = None,
) -> None:
    """Store every lane, or the first ``count`` of them."""
    raw = to_memory(f, value, dtype)
    if count is None:
        f.store(raw, pointer)
    elif target.has_masks:
        f.masked_store(raw, pointer, f.first_lanes(count, raw.type.lanes))
    else:
        f.branch(
            count >= raw.type.lanes,
            lambda: f.store(raw, pointer),
            lambda: _store_first(f, raw, pointer, count),
        )


def _store_first(f: Function, raw: Value, pointer: Value, count: Value) -> None:
    """Store the first ``count`` lanes, fewer than all, in parts of 1, 2, 4... lanes.

    Without mask registers a masked store takes longer than all the parts, about twenty
    cycles on the processors measured.
    """
    half = raw.type.lanes // 2
    if not half:
        return
    low = f.shuffle(raw, None, range(half))
    high = f.shuffle(raw, None, range(half, 2 * half))

    def fills_low() -> list[Value]:
        f.store(low, pointer)
        return [high, f.offset(pointer, half * raw.type.element_bytes)]

    rest, place = f.branch((count & half).differs(0), fills_low, lambda: [low, pointer])
    _store_first(f, rest, place, count)


def store_under(f: Function, raw: Value, pointer: Value, mask: Value) -> None:
    """Store the lanes under a mask, usually all of them: ``_store_first`` says why that
    is worth a branch.
    """
    if f.module.has_avx512:
        return f.masked_store(raw, pointer, mask)
    f.branch(
        f.any_lane(~mask),
        lambda: f.masked_store(raw, pointer, mask),
        lambda: f.store(raw, pointer),
    )
    return None


def store_strided(
    f: Function, value: Value, pointer: Value, stride: Value, dtype: str, count: Value
) -> None:
    """Store the first ``count`` lanes ``stride`` bytes apart."""
    _scatter(f, to_memory(f, value, dtype), pointer, stride, dtype, count)


def _scatter(
    f: Function, raw: Value, pointer: Value, stride: Value, dtype: str, count: Value
) -> None:
    tile = f.stack(raw.type.element_bytes * raw.type.lanes)
    f.store(raw, tile)
    width = f.integer(raw.type.element_bytes)
    copy_elements(f, dtype, 1, tile, width, pointer, stride, count)
