"""Checked mode: every memory access of a kernel is checked for its operand's bounds.

A ``CheckedModule`` replaces the builder's ``Module`` (``generate.py`` chooses), so the
schedules of all forms are checked alike without knowing it. A pointer carries the
region that it may access: an operand's, from the call's sizes and strides
(``Function.bounded``), or a part of the stack. Pointers derived from a pointer inherit
its region. An access outside is redirected to a dummy, and the kernel returns the
status of the first one (``status.py``): operand, element and number of elements.

Lanes excluded by a mask are not checked. Read next: ``docs/checked-mode.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from pellucid_compiler.abi.limits import OUTSIDE_BITS
from pellucid_compiler.abi.status import (
    OUTSIDE_OPERAND,
    status,
)
from pellucid_compiler.codegen.builder import (
    I64,
    PTR,
    Box,
    Function,
    Module,
    Operand,
    Type,
    Value,
)

_DUMMY_BYTES = 1024  # more than any vector has


class Region(NamedTuple):
    """The addresses from ``low`` up to, but not including, ``high``, as integers.

    ``tag``: the status without element and extent, shifted left by eight, with log2 of
    an element's bytes in the low bits.
    """

    low: Value
    high: Value
    tag: Value


class CheckedFunction(Function):
    """A function whose pointers know their regions.

    Internal functions receive the regions of their pointers, and where to report, as
    additional parameters.
    """

    def __init__(
        self,
        module: Module,
        name: str,
        parameters: Sequence[tuple[str, Type]],
        result: Type | None,
        internal: bool,
    ) -> None:
        hidden = []
        if internal:
            for key, type_ in parameters:
                if type_ == PTR:
                    hidden += [(f"{key}.{part}", I64) for part in Region._fields]
            hidden.append(("report", PTR))
        super().__init__(module, name, [*parameters, *hidden], result, internal)
        self.args, rest = (
            self.parameters[: len(parameters)],
            self.parameters[len(parameters) :],
        )
        self._regions: dict[str, Region] = {}
        pointers = [arg for arg in self.args if arg.type == PTR] if internal else []
        for k, pointer in enumerate(pointers):
            self._regions[pointer.text] = Region(*rest[3 * k : 3 * k + 3])
        if not internal:
            self._stack.append("  %report = alloca i64")
            self._stack.append("  store i64 0, ptr %report")
        self._stack.append(f"  %dummy = alloca [{_DUMMY_BYTES} x i8], align 64")
        self._report = Value(self, "%report", PTR)

    # ------------------------------------------------------------------ regions

    def _region(self, pointer: Value) -> Region | None:
        return self._regions.get(pointer.text)

    def _region_or_all(self, pointer: Value) -> Region:
        """The pointer's region; all memory for arguments and null."""
        everything = Region(self.integer(0), self.integer(-1), self.integer(0))
        return self._region(pointer) or everything

    def _give(self, pointer: Value, region: Region | None) -> Value:
        if region is not None and pointer.type == PTR:
            self._regions[pointer.text] = region
        return pointer

    def _address(self, pointer: Value) -> Value:
        return self._emit(I64, f"ptrtoint ptr {pointer.text} to i64")

    def bounded(self, pointer: Value, operand: int, item: int, box: Box) -> Value:
        """An operand has at least one element: one broadcast along a row is read even
        if the row is empty.
        """
        low = self._address(pointer)
        high = low + item
        for size, stride in box():
            reach = (self.maximum(size, 1) - 1) * stride
            low = low + self.minimum(reach, 0)
            high = high + self.maximum(reach, 0)
        tag = status(OUTSIDE_OPERAND, operand << 2 * OUTSIDE_BITS)
        shifted = self.integer(tag << 8 | item.bit_length() - 1)
        return self._give(pointer, Region(low, high, shifted))

    def stack(self, num_bytes: int, align: int = 64) -> Value:
        pointer = super().stack(num_bytes, align)
        low = Value(self, f"{pointer.text}.low", I64)
        high = Value(self, f"{pointer.text}.high", I64)
        self._stack.append(f"  {low.text} = ptrtoint ptr {pointer.text} to i64")
        self._stack.append(f"  {high.text} = add i64 {low.text}, {num_bytes}")
        tag = status(OUTSIDE_OPERAND, ((1 << 6) - 1) << 2 * OUTSIDE_BITS)
        return self._give(pointer, Region(low, high, self.integer(tag << 8)))

    def offset(self, pointer: Value, num_bytes: Operand) -> Value:
        return self._give(super().offset(pointer, num_bytes), self._region(pointer))

    def select(self, condition: Value, yes: Operand, no: Operand) -> Value:
        chosen = super().select(condition, yes, no)
        if not (isinstance(yes, Value) and isinstance(no, Value)):
            return chosen
        if chosen.type != PTR:
            return chosen
        first, second = self._region_or_all(yes), self._region_or_all(no)
        parts = zip(first, second, strict=True)
        region = Region(*(self.select(condition, a, b) for a, b in parts))
        return self._give(chosen, region)

    # ------------------------------------------------------------------ control

    def loop(
        self,
        start: Operand,
        stop: Operand,
        step: Operand,
        carried: Sequence[Value],
        body: Callable[[Value, list[Value]], Sequence[Value] | None],
        *,
        at_least_once: bool = False,
        aligned: bool = False,
        rolled: bool = False,
    ) -> list[Value]:
        """A loop-carried pointer keeps its region."""

        def inside(index: Value, values: list[Value]) -> Sequence[Value] | None:
            return body(index, self._follow(carried, values))

        found = super().loop(
            start,
            stop,
            step,
            carried,
            inside,
            at_least_once=at_least_once,
            aligned=aligned,
            rolled=rolled,
        )
        return self._follow(carried, found)

    def repeat(
        self,
        carried: Sequence[Value],
        body: Callable[[list[Value]], tuple[Value, Sequence[Value]]],
    ) -> list[Value]:
        def inside(values: list[Value]) -> tuple[Value, Sequence[Value]]:
            return body(self._follow(carried, values))

        return self._follow(carried, super().repeat(carried, inside))

    def _follow(self, sources: Sequence[Value], values: Sequence[Value]) -> list[Value]:
        pairs = zip(sources, values, strict=True)
        return [self._give(value, self._region(source)) for source, value in pairs]

    def branch(
        self,
        condition: Value,
        yes: Callable[[], Sequence[Value] | None],
        no: Callable[[], Sequence[Value] | None] | None = None,
    ) -> list[Value]:
        """Bodies also return their pointers' regions, last."""

        def with_regions(
            body: Callable[[], Sequence[Value] | None],
        ) -> Callable[[], list[Value]]:
            def run() -> list[Value]:
                values = list(body() or ())
                pointers = [v for v in values if v.type == PTR]
                return values + [x for p in pointers for x in self._region_or_all(p)]

            return run

        found = super().branch(
            condition, with_regions(yes), None if no is None else with_regions(no)
        )
        count = len(found)
        while sum(1 + 3 * (v.type == PTR) for v in found[:count]) > len(found):
            count -= 1
        values, parts = found[:count], found[count:]
        for k, pointer in enumerate(v for v in values if v.type == PTR):
            self._give(pointer, Region(*parts[3 * k : 3 * k + 3]))
        return values

    def call(self, function: Function, *args: Value) -> Value:
        hidden: list[Value] = []
        if isinstance(function, CheckedFunction):
            for arg in args:
                if arg.type == PTR:
                    hidden += self._region_or_all(arg)
            hidden.append(self._report)
        return super().call(function, *args, *hidden)

    def ret(self, result: Value | None = None) -> None:
        """An access outside takes precedence over the kernel's own status."""
        if result is not None and not self.internal:
            found = super().load(self._report, I64)
            outside = super().compare("ne", found, 0)
            result = super().select(outside, found, result)
        super().ret(result)

    # ------------------------------------------------------------------ accesses

    def load(self, pointer: Value, type_: Type, align: int | None = None) -> Value:
        size = type_.element_bytes * type_.lanes
        return super().load(self._inside(pointer, size), type_, align)

    def store(self, value: Value, pointer: Value, align: int | None = None) -> None:
        size = value.type.element_bytes * value.type.lanes
        super().store(value, self._inside(pointer, size), align)

    def masked_load(self, pointer: Value, mask: Value, other: Value) -> Value:
        place = self._inside_mask(pointer, mask, other.type.element_bytes)
        return super().masked_load(place, mask, other)

    def masked_store(self, value: Value, pointer: Value, mask: Value) -> None:
        place = self._inside_mask(pointer, mask, value.type.element_bytes)
        super().masked_store(value, place, mask)

    def gather(
        self, pointer: Value, offsets: Value, mask: Value, other: Value
    ) -> Value:
        mask = self._inside_lanes(pointer, offsets, mask, other.type.element_bytes)
        return super().gather(pointer, offsets, mask, other)

    def scatter(
        self, value: Value, pointer: Value, offsets: Value, mask: Value
    ) -> None:
        mask = self._inside_lanes(pointer, offsets, mask, value.type.element_bytes)
        super().scatter(value, pointer, offsets, mask)

    def _inside_lanes(
        self, pointer: Value, offsets: Value, mask: Value, width: int
    ) -> Value:
        """The lanes of ``mask`` that are in the region; reports the first lane that is
        not.
        """
        region = self._region(pointer)
        if region is None:
            return mask
        lanes = mask.type.lanes
        first = self.splat(self._address(pointer), lanes) + offsets
        good = super().compare("uge", first, self.splat(region.low, lanes))
        last = self.splat(region.high - width, lanes)
        good = good & super().compare("ule", first, last)
        bad = mask & ~good
        report = self.module.shared("report_outside", lambda: _reporter(self.module))

        def complain() -> None:
            place = self.extract(first, self.first_lane(bad))
            self._complain(report, place, region)

        self.branch(self.any_lane(bad), complain)
        return mask & good

    def _inside_mask(self, pointer: Value, mask: Value, width: int) -> Value:
        """Like ``_inside``, from the first active lane to the last."""
        if self._region(pointer) is None:
            return pointer
        bits = self.bitcast(mask, Type(f"i{mask.type.lanes}"))
        bits = self.convert("zext", bits, "i64")
        immediate = "i1 false"
        first = self.intrinsic("llvm.cttz.i64", I64, bits, immediates=immediate)
        behind = self.intrinsic("llvm.ctlz.i64", I64, bits, immediates=immediate)
        lanes = self.integer(64) - behind
        return self._inside(pointer, lanes * width, first * width, bits.equals(0))

    def _inside(
        self,
        pointer: Value,
        end: Operand,
        begin: Operand = 0,
        nothing: Value | None = None,
    ) -> Value:
        """The pointer, or the dummy if a byte from ``begin`` to ``end`` is outside."""
        region = self._region(pointer)
        if region is None:
            return pointer
        address = self._address(pointer)
        first = address + begin
        good = super().compare("uge", first, region.low)
        good = good & super().compare("ule", address + end, region.high)
        if nothing is not None:
            good = good | nothing
        report = self.module.shared("report_outside", lambda: _reporter(self.module))
        self.branch(good, lambda: None, lambda: self._complain(report, first, region))
        return super().select(good, pointer, Value(self, "%dummy", PTR))

    def _complain(self, report: Function, first: Value, region: Region) -> None:
        super().call(report, self._report, first, *region)


class CheckedModule(Module):
    """A module whose functions check."""

    function_class = CheckedFunction


def _reporter(module: Module) -> Function:
    """``report_outside(report, address, low, high, tag)``: keeps the first status."""
    names = ("address", *Region._fields)
    parameters = [("report", PTR), *((name, I64) for name in names)]
    f = Function(module, "report_outside", parameters, None, True)
    module.add(f)
    report, address, low, high, tag = f.args
    shift = tag & 255
    most = (1 << OUTSIDE_BITS) - 1
    element = f.binary("ashr", address - low, shift)
    element = f.minimum(f.maximum(element, -(most // 2)), most // 2)
    extent = f.minimum(f.binary("lshr", high - low, shift), most)
    found = f.binary("lshr", tag, 8) | (element & most) << OUTSIDE_BITS | extent
    earlier = f.load(report, I64)
    f.store(f.select(earlier.equals(0), found, earlier), report)
    f.ret()
    return f
