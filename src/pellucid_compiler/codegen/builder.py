"""A small builder of LLVM assembly text: typed values, loops, masks, functions.

Every generator of machine code writes through this module: ``emit`` for scalar
expressions, ``elementary`` for exp and the like, ``schedules`` for whole kernels. It
knows LLVM's text format and nothing about tensors. A ``Value`` refers to its function,
so formulas read like formulas: ``x * x + 1.0``. Python numbers take the type of the
other operand, and a scalar operand is broadcast to a vector.

No instruction carries fast-math flags: what the caller writes is what the machine
computes, bit for bit. The types and values of ``values.py`` are offered here, too. Read
next: ``values.py``, ``targets/x86.py`` and ``jit.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from pellucid_compiler.codegen.values import (
    DOUBLE,
    FLOAT,
    HALF,
    I1,
    I8,
    I16,
    I32,
    I64,
    PTR,
    Number,
    Operand,
    Type,
    Value,
    number_text,
)

__all__ = [
    "DOUBLE",
    "FLOAT",
    "HALF",
    "I1",
    "I8",
    "I16",
    "I32",
    "I64",
    "PTR",
    "Box",
    "Function",
    "Module",
    "Number",
    "Operand",
    "Type",
    "Value",
]

Box = Callable[[], Sequence[tuple["Value", "Value"]]]


class Function:
    """One LLVM function under construction. Instructions go to the current block.

    ``args`` are its parameters in order. ``loop`` and ``branch`` open blocks and leave
    the builder in the block that follows.
    """

    def __init__(
        self,
        module: Module,
        name: str,
        parameters: Sequence[tuple[str, Type]],
        result: Type | None,
        internal: bool,
    ) -> None:
        self.module = module
        self.name = name
        self.result = result
        self.internal = internal
        self._counter = 0
        self._lines: list[str] = []
        self._stack: list[str] = []
        self._block = "entry"
        self.parameters = tuple(
            Value(self, f"%{key}", type_) for key, type_ in parameters
        )
        self.args = self.parameters

    # ------------------------------------------------------------------ plumbing

    def _fresh(self) -> int:
        self._counter += 1
        return self._counter

    def _emit(self, type_: Type, instruction: str) -> Value:
        name = f"%v{self._fresh()}"
        self._lines.append(f"  {name} = {instruction}")
        return Value(self, name, type_)

    def _line(self, instruction: str) -> None:
        self._lines.append(f"  {instruction}")

    def _open(self, label: str) -> None:
        self._lines.append(f"{label}:")
        self._block = label

    # ------------------------------------------------------------------ constants

    def constant(self, value: Number, type_: Type) -> Value:
        if type_.is_float:
            value = float(value)
        text = number_text(value, type_)
        if type_.lanes > 1:
            text = f"splat ({type_.element} {text})"
        return Value(self, text, type_, value)

    def integer(self, value: int) -> Value:
        """An ``i64`` constant, the type of sizes, strides and loop indices."""
        return self.constant(value, I64)

    def lane_constants(self, values: Sequence[Number], element: Type) -> Value:
        """A vector constant with one given number per lane."""
        type_ = element.with_lanes(len(values))
        if type_.lanes == 1:
            return self.constant(values[0], type_)
        items = (f"{type_.element} {number_text(value, type_)}" for value in values)
        return Value(self, f"<{', '.join(items)}>", type_)

    def poison(self, type_: Type) -> Value:
        return Value(self, "poison", type_)

    # ------------------------------------------------------------------ conversion

    def splat(self, value: Value, lanes: int) -> Value:
        """``value`` in every lane."""
        if value.type.lanes == lanes:
            return value
        type_ = value.type.with_lanes(lanes)
        if value.literal is not None:
            return self.constant(value.literal, type_)
        one = self._emit(
            type_, f"insertelement {type_} poison, {value.type} {value.text}, i64 0"
        )
        indices = f"<{lanes} x i32> zeroinitializer"
        return self._emit(
            type_, f"shufflevector {type_} {one.text}, {type_} poison, {indices}"
        )

    def unify(self, *operands: Operand) -> tuple[Value, ...]:
        """Operands converted to the widest type among them."""
        values = [x for x in operands if isinstance(x, Value)]
        type_ = max((x.type for x in values), key=lambda t: t.lanes)
        result = []
        for x in operands:
            if not isinstance(x, Value):
                x = self.constant(x, type_)
            elif x.type.element != type_.element:
                raise TypeError(f"operands of types {x.type} and {type_}")
            result.append(self.splat(x, type_.lanes))
        return tuple(result)

    def convert(self, instruction: str, value: Value, element: str) -> Value:
        """A cast instruction (``sitofp``, ``trunc``, ``bitcast``...) lane by lane."""
        type_ = value.type.with_element(element)
        if type_ == value.type:
            return value
        return self._emit(type_, f"{instruction} {value.type} {value.text} to {type_}")

    def bitcast(self, value: Value, type_: Type) -> Value:
        if type_ == value.type:
            return value
        return self._emit(type_, f"bitcast {value.type} {value.text} to {type_}")

    # ------------------------------------------------------------------ arithmetic

    def binary(self, instruction: str, left: Operand, right: Operand) -> Value:
        a, b = self.unify(left, right)
        return self._emit(a.type, f"{instruction} {a.type} {a.text}, {b.text}")

    def add(self, left: Operand, right: Operand) -> Value:
        a, b = self.unify(left, right)
        if not a.type.is_float:
            if isinstance(a.literal, int) and isinstance(b.literal, int):
                return self.constant(a.literal + b.literal, a.type)
            if b.literal == 0:
                return a
            if a.literal == 0:
                return b
        return self.binary("fadd" if a.type.is_float else "add", a, b)

    def sub(self, left: Operand, right: Operand) -> Value:
        a, b = self.unify(left, right)
        if not a.type.is_float:
            if isinstance(a.literal, int) and isinstance(b.literal, int):
                return self.constant(a.literal - b.literal, a.type)
            if b.literal == 0:
                return a
        return self.binary("fsub" if a.type.is_float else "sub", a, b)

    def mul(self, left: Operand, right: Operand) -> Value:
        a, b = self.unify(left, right)
        if not a.type.is_float:
            if isinstance(a.literal, int) and isinstance(b.literal, int):
                return self.constant(a.literal * b.literal, a.type)
            if b.literal == 1:
                return a
            if a.literal == 1:
                return b
        return self.binary("fmul" if a.type.is_float else "mul", a, b)

    def neg(self, value: Value) -> Value:
        if value.type.is_float:
            return self._emit(value.type, f"fneg {value.type} {value.text}")
        return self.sub(0, value)

    def fma(self, a: Operand, b: Operand, c: Operand) -> Value:
        """``a * b + c`` rounded once."""
        x, y, z = self.unify(a, b, c)
        return self.intrinsic(f"llvm.fma.{x.type.suffix}", x.type, x, y, z)

    def unary(self, intrinsic: str, value: Value) -> Value:
        """``sqrt``, ``fabs``, ``floor``, ``ceil``, ``trunc``, ``roundeven``, ..."""
        name = f"llvm.{intrinsic}.{value.type.suffix}"
        return self.intrinsic(name, value.type, value)

    def copysign(self, magnitude: Operand, sign: Operand) -> Value:
        a, b = self.unify(magnitude, sign)
        return self.intrinsic(f"llvm.copysign.{a.type.suffix}", a.type, a, b)

    def intrinsic(
        self, name: str, result: Type | None, *args: Value, immediates: str = ""
    ) -> Value:
        """Call an LLVM intrinsic, declaring it. ``immediates`` are appended verbatim,
        as ``i32 0, i32 3``. The value of a call without result must not be used."""
        types = [str(arg.type) for arg in args]
        texts = [f"{arg.type} {arg.text}" for arg in args]
        for immediate in filter(None, immediates.split(", ")):
            types.append(f"{immediate.split()[0]} immarg")
            texts.append(immediate)
        returns = "void" if result is None else str(result)
        self.module.declare(f"declare {returns} @{name}({', '.join(types)})")
        call = f"call {returns} @{name}({', '.join(texts)})"
        if result is None:
            self._line(call)
            return Value(self, "void", I1)
        return self._emit(result, call)

    def call(self, function: Function, *args: Value) -> Value:
        """Call another function of the module."""
        texts = ", ".join(f"{arg.type} {arg.text}" for arg in args)
        if function.result is None:
            self._line(f"call void @{function.name}({texts})")
            return Value(self, "void", I1)
        call = f"call {function.result} @{function.name}({texts})"
        return self._emit(function.result, call)

    # ------------------------------------------------------------------ comparison

    def compare(self, relation: str, left: Operand, right: Operand) -> Value:
        """``lt le gt ge eq`` (ordered, or signed), ``ne`` (unordered is unequal), or
        any LLVM predicate (``ult``, ``uno``, ...), unchanged."""
        a, b = self.unify(left, right)
        if a.type.is_float:
            ordered = {"lt", "le", "gt", "ge", "eq"}
            predicate = f"o{relation}" if relation in ordered else relation
            predicate = "une" if relation == "ne" else predicate
            instruction = "fcmp"
        else:
            signed = {"lt", "le", "gt", "ge"}
            predicate = f"s{relation}" if relation in signed else relation
            instruction = "icmp"
        return self._emit(
            a.type.with_element("i1"),
            f"{instruction} {predicate} {a.type} {a.text}, {b.text}",
        )

    def select(self, condition: Value, yes: Operand, no: Operand) -> Value:
        """Lane-wise choice; a scalar condition chooses whole vectors."""
        a, b = self.unify(yes, no)
        if condition.type.lanes > a.type.lanes:
            a, b = (self.splat(x, condition.type.lanes) for x in (a, b))
        return self._emit(
            a.type,
            f"select {condition.type} {condition.text}, "
            f"{a.type} {a.text}, {b.type} {b.text}",
        )

    def is_nan(self, value: Value) -> Value:
        return self.compare("uno", value, value)

    def minimum(self, left: Operand, right: Operand) -> Value:
        """``left < right ? left : right``: one instruction; ``right`` for NaN."""
        a, b = self.unify(left, right)
        return self.select(a < b, a, b)

    def maximum(self, left: Operand, right: Operand) -> Value:
        """``left > right ? left : right``: one instruction; ``right`` for NaN."""
        a, b = self.unify(left, right)
        return self.select(a > b, a, b)

    # ------------------------------------------------------------------ vectors

    def extract(self, vector: Value, lane: int | Value) -> Value:
        if vector.type.lanes == 1:
            return vector
        index = f"i64 {lane}" if isinstance(lane, int) else f"{lane.type} {lane.text}"
        return self._emit(
            vector.type.with_lanes(1),
            f"extractelement {vector.type} {vector.text}, {index}",
        )

    def insert(self, vector: Value, element: Value, lane: int) -> Value:
        if vector.type.lanes == 1:
            return element
        return self._emit(
            vector.type,
            f"insertelement {vector.type} {vector.text}, "
            f"{element.type} {element.text}, i64 {lane}",
        )

    def shuffle(self, a: Value, b: Value | None, lanes: Sequence[int]) -> Value:
        """Lanes selected from ``a`` followed by ``b``; a scalar for a single lane."""
        if len(lanes) == 1:
            return self.extract(a, lanes[0])
        indices = ", ".join(f"i32 {lane}" for lane in lanes)
        second = "poison" if b is None else b.text
        return self._emit(
            a.type.with_lanes(len(lanes)),
            f"shufflevector {a.type} {a.text}, {a.type} {second}, "
            f"<{len(lanes)} x i32> <{indices}>",
        )

    def lane_numbers(self, type_: Type) -> Value:
        """``<0, 1, 2, ...>`` in an integer vector type."""
        return self.lane_constants(range(type_.lanes), type_.with_lanes(1))

    def first_lanes(self, count: Value, lanes: int) -> Value:
        """The mask whose lane ``i`` is ``i < count`` (``count`` an i64)."""
        if lanes == 1:
            return count > 0
        narrow = Type("i32" if lanes <= 16 else "i16" if lanes <= 32 else "i8")
        limit = self.minimum(count, lanes)
        limit = self.convert("trunc", limit, narrow.element)
        numbers = self.lane_numbers(narrow.with_lanes(lanes))
        return self.compare("lt", numbers, limit)

    def any_lane(self, mask: Value) -> Value:
        """Whether any lane of a mask is set, as one ``i1``."""
        if mask.type.lanes == 1:
            return mask
        bits = self.bitcast(mask, Type(f"i{mask.type.lanes}"))
        return bits.differs(0)

    def first_lane(self, mask: Value) -> Value:
        """The number (i64) of the first lane set in a mask that has one."""
        if mask.type.lanes == 1:
            return self.integer(0)
        bits = self.convert(
            "zext", self.bitcast(mask, Type(f"i{mask.type.lanes}")), "i64"
        )
        return self.intrinsic("llvm.cttz.i64", I64, bits, immediates="i1 true")

    # ------------------------------------------------------------------ memory

    def bounded(self, pointer: Value, operand: int, item: int, box: Box) -> Value:
        """The pointer to an operand's first element, of ``item`` bytes; ``box()``
        returns the size and stride (in bytes) of each of its axes. For ``checked.py``.
        """
        return pointer

    def touch(
        self, pointer: Value, num_bytes: int, access: str, where: Value | None = None
    ) -> None:
        """Announces an access that follows, if ``where`` holds. For the emulated GPU
        (``gpu/builder.py``), which checks it."""

    def offset(self, pointer: Value, num_bytes: Operand) -> Value:
        """The address ``num_bytes`` past ``pointer``."""
        if not isinstance(num_bytes, Value):
            num_bytes = self.integer(int(num_bytes))
        if num_bytes.literal == 0:
            return pointer
        return self._emit(
            PTR, f"getelementptr i8, ptr {pointer.text}, i64 {num_bytes.text}"
        )

    def load(self, pointer: Value, type_: Type, align: int | None = None) -> Value:
        """Load ``type_``; aligned to one element by default."""
        align = align or type_.element_bytes
        return self._emit(type_, f"load {type_}, ptr {pointer.text}, align {align}")

    def store(self, value: Value, pointer: Value, align: int | None = None) -> None:
        align = align or value.type.element_bytes
        self._line(
            f"store {value.type} {value.text}, ptr {pointer.text}, align {align}"
        )

    def masked_load(self, pointer: Value, mask: Value, other: Value) -> Value:
        """Load the lanes under ``mask``, the rest from ``other``; no access outside."""
        type_ = other.type
        name = f"llvm.masked.load.{type_.suffix}.p0"
        self.module.declare(
            f"declare {type_} @{name}(ptr, {mask.type}, {type_})",
        )
        return self._emit(
            type_,
            f"call {type_} @{name}(ptr align {type_.element_bytes} {pointer.text}, "
            f"{mask.type} {mask.text}, {type_} {other.text})",
        )

    def gather(
        self, pointer: Value, offsets: Value, mask: Value, other: Value
    ) -> Value:
        """Load the lanes under ``mask`` from ``offsets`` bytes past ``pointer``, the
        rest from ``other``.
        """
        type_ = other.type
        at = self._places(pointer, offsets)
        name = f"llvm.masked.gather.{type_.suffix}.{at.type.suffix}"
        self.module.declare(f"declare {type_} @{name}({at.type}, {mask.type}, {type_})")
        return self._emit(
            type_,
            f"call {type_} @{name}({at.type} align {type_.element_bytes} {at.text}, "
            f"{mask.type} {mask.text}, {type_} {other.text})",
        )

    def scatter(
        self, value: Value, pointer: Value, offsets: Value, mask: Value
    ) -> None:
        """Store the lanes under ``mask`` at ``offsets`` bytes past ``pointer``."""
        type_ = value.type
        at = self._places(pointer, offsets)
        name = f"llvm.masked.scatter.{type_.suffix}.{at.type.suffix}"
        self.module.declare(f"declare void @{name}({type_}, {at.type}, {mask.type})")
        self._line(
            f"call void @{name}({type_} {value.text}, "
            f"{at.type} align {type_.element_bytes} {at.text}, {mask.type} {mask.text})"
        )

    def _places(self, pointer: Value, offsets: Value) -> Value:
        """One address per lane."""
        return self._emit(
            PTR.with_lanes(offsets.type.lanes),
            f"getelementptr i8, ptr {pointer.text}, {offsets.type} {offsets.text}",
        )

    def masked_store(self, value: Value, pointer: Value, mask: Value) -> None:
        type_ = value.type
        name = f"llvm.masked.store.{type_.suffix}.p0"
        self.module.declare(f"declare void @{name}({type_}, ptr, {mask.type})")
        self._line(
            f"call void @{name}({type_} {value.text}, "
            f"ptr align {type_.element_bytes} {pointer.text}, {mask.type} {mask.text})"
        )

    def prefetch(self, pointer: Value, *, write: bool = False) -> None:
        """Prefetch the cache line at ``pointer`` into every cache level."""
        self.intrinsic(
            "llvm.prefetch.p0",
            None,
            pointer,
            immediates=f"i32 {int(write)}, i32 3, i32 1",
        )

    def stack(self, num_bytes: int, align: int = 64) -> Value:
        """Uninitialised scratch memory that lives until the function returns."""
        name = f"%v{self._fresh()}"
        self._stack.append(f"  {name} = alloca [{num_bytes} x i8], align {align}")
        return Value(self, name, PTR)

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
        """``for index in range(start, stop, step)``; returns the carried values.

        ``body(index, carried)`` returns their next values. ``at_least_once`` omits the
        test before the first iteration. ``aligned`` aligns the code to 32 bytes, so
        that surrounding code does not decide whether the branch at its end crosses such
        a boundary, which costs some processors cycles in every iteration.
        """
        low, high, increment = (
            x if isinstance(x, Value) else self.integer(int(x))
            for x in (start, stop, step)
        )
        label = self._fresh()
        before = self._block
        if at_least_once:
            self._line(f"br label %loop{label}")
        else:
            enter = low < high
            self._line(f"br i1 {enter.text}, label %loop{label}, label %done{label}")
        self._open(f"loop{label}")
        position = len(self._lines)
        index = Value(self, f"%v{self._fresh()}", I64)
        inside = [Value(self, f"%v{self._fresh()}", x.type) for x in carried]
        latest = list(body(index, inside) or ())
        if [x.type for x in latest] != [x.type for x in carried]:
            raise TypeError(f"loop carries {carried!r}, its body returned {latest!r}")
        following = self._emit(I64, f"add nsw i64 {index.text}, {increment.text}")
        again = following < high
        last = self._block
        hint = f", {self.module.aligned_loops()}" if aligned else ""
        hint = f", {self.module.rolled_loops()}" if rolled else hint
        self._line(f"br i1 {again.text}, label %loop{label}, label %done{label}{hint}")
        phis = [
            f"  {x.text} = phi {x.type} [ {a.text}, %{before} ], [ {b.text}, %{last} ]"
            for x, a, b in zip(
                [index, *inside], [low, *carried], [following, *latest], strict=True
            )
        ]
        self._lines[position:position] = phis
        self._open(f"done{label}")
        if at_least_once:
            return latest
        return [
            self._emit(
                a.type,
                f"phi {a.type} [ {a.text}, %{before} ], [ {b.text}, %{last} ]",
            )
            for a, b in zip(carried, latest, strict=True)
        ]

    def repeat(
        self,
        carried: Sequence[Value],
        body: Callable[[list[Value]], tuple[Value, Sequence[Value]]],
    ) -> list[Value]:
        """Run ``body`` once, and repeat it while the first value it returns is true.

        The second are the next carried values; the final ones are returned."""
        label = self._fresh()
        before = self._block
        self._line(f"br label %loop{label}")
        self._open(f"loop{label}")
        position = len(self._lines)
        inside = [Value(self, f"%v{self._fresh()}", x.type) for x in carried]
        again, latest = body(inside)
        last = self._block
        self._line(f"br i1 {again.text}, label %loop{label}, label %done{label}")
        self._lines[position:position] = [
            f"  {x.text} = phi {x.type} [ {a.text}, %{before} ], [ {b.text}, %{last} ]"
            for x, a, b in zip(inside, carried, latest, strict=True)
        ]
        self._open(f"done{label}")
        return list(latest)

    def branch(
        self,
        condition: Value,
        yes: Callable[[], Sequence[Value] | None],
        no: Callable[[], Sequence[Value] | None] | None = None,
    ) -> list[Value]:
        """Run one of two bodies; both return values of the same types."""
        label = self._fresh()
        self._line(f"br i1 {condition.text}, label %yes{label}, label %no{label}")
        self._open(f"yes{label}")
        first = list(yes() or ())
        first_end = self._block
        self._line(f"br label %join{label}")
        self._open(f"no{label}")
        second = list((no() if no else None) or ())
        second_end = self._block
        self._line(f"br label %join{label}")
        self._open(f"join{label}")
        return [
            self._emit(
                a.type,
                f"phi {a.type} [ {a.text}, %{first_end} ], [ {b.text}, %{second_end} ]",
            )
            for a, b in zip(first, second, strict=True)
        ]

    def return_if(self, condition: Value, result: Value | Callable[[], Value]) -> None:
        """Leave the function early; a result given as a function is computed then."""
        label = self._fresh()
        self._line(f"br i1 {condition.text}, label %leave{label}, label %go{label}")
        self._open(f"leave{label}")
        self.ret(result if isinstance(result, Value) else result())
        self._open(f"go{label}")

    def ret(self, result: Value | None = None) -> None:
        text = "void" if result is None else f"{result.type} {result.text}"
        self._line(f"ret {text}")

    def text(self) -> str:
        linkage = "internal " if self.internal else ""
        returns = "void" if self.result is None else str(self.result)
        args = ", ".join(f"{arg.type} {arg.text}" for arg in self.parameters)
        head = f"define {linkage}{returns} @{self.name}({args}) #0 {{\nentry:\n"
        return head + "\n".join([*self._stack, *self._lines]) + "\n}\n"


class Module:
    """The functions and constant tables of one object file.

    ``has_avx512``: elementary functions may use AVX-512 instructions that LLVM does not
    select on its own.
    """

    function_class = Function

    def __init__(self, *, has_avx512: bool = False) -> None:
        self.has_avx512 = has_avx512
        self._declarations: dict[str, None] = {}
        self._tables: list[str] = []
        self._functions: list[Function] = []
        self._shared: dict[str, Function] = {}
        self._metadata: dict[str, None] = {}

    def function(
        self,
        name: str,
        parameters: Sequence[tuple[str, Type]],
        result: Type | None = None,
        *,
        internal: bool = False,
    ) -> Function:
        """Begin a function; ``internal`` ones are invisible outside the module."""
        function = self.function_class(self, name, parameters, result, internal)
        self.add(function)
        return function

    def add(self, function: Function) -> None:
        """Make a function a part of the module."""
        self._functions.append(function)

    def shared(self, name: str, build: Callable[[], Function]) -> Function:
        """The helper function of this name, built at first use."""
        if name not in self._shared:
            self._shared[name] = build()
        return self._shared[name]

    def declare(self, declaration: str) -> None:
        self._declarations[declaration] = None

    def aligned_loops(self) -> str:
        """The metadata that marks the back edge of a loop whose code is aligned."""
        return self._loops(0, '"llvm.loop.align", i32 32')

    def rolled_loops(self) -> str:
        """The metadata that marks the back edge of a loop that is not unrolled."""
        return self._loops(2, '"llvm.loop.unroll.disable"')

    def _loops(self, number: int, hint: str) -> str:
        self._metadata[f"!{number} = distinct !{{!{number}, !{number + 1}}}"] = None
        self._metadata[f"!{number + 1} = !{{!{hint}}}"] = None
        return f"!llvm.loop !{number}"

    def table(self, function: Function, values: Iterable[Number], type_: Type) -> Value:
        """The address of a constant array, as a value of ``function``."""
        items = [f"{type_.element} {number_text(value, type_)}" for value in values]
        name = f"@table{len(self._tables)}"
        self._tables.append(
            f"{name} = internal unnamed_addr constant "
            f"[{len(items)} x {type_.element}] [{', '.join(items)}], align 64"
        )
        return Value(function, name, PTR)

    def text(self, attributes: str) -> str:
        """The module's assembly; ``attributes`` are its functions' (see ``Target``)."""
        parts = [
            *sorted(self._declarations),
            *self._tables,
            *(function.text() for function in self._functions),
            f"attributes #0 = {{ {attributes} }}",
            *self._metadata,
        ]
        return "\n".join(parts) + "\n"
