"""Tile programs: how the runtime runs a kernel without machine code.

The kernel's scalar program runs instruction by instruction over tiles that fit the L1
cache; every instruction is itself a kernel of the pack, for one scalar op, so a missing
kernel is slow, never an error. The pack therefore contains the kernels that
``tile_program`` names. runtime/plan/tile_program.cpp decodes and runs what is encoded
here. Called by builder.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import attrgetter
from typing import Any

from pellucid_compiler.abi import records
from pellucid_compiler.abi.encode import Encodable, encode
from pellucid_compiler.abi.fields import encode_record
from pellucid_compiler.abi.records import (
    FORMS,
    PASSES,
    SLOTS,
    BitcastSlot,
    CheckSlot,
    CombiningProgram,
    ConstantSlot,
    GatherSlot,
    MapProgram,
    NestProgram,
    NumberedSlot,
    OpSlot,
    Program,
    ReducePass,
    RowsProgram,
    ScalarProgram,
    StoreRow,
    StoringPass,
)
from pellucid_compiler.codegen.kernel import (
    Kernel,
    Map,
    Nest,
    Pass,
    Reduce,
    RowAdd,
    RowMap,
    RowReduce,
    Rows,
    RowStore,
    Scan,
)
from pellucid_compiler.ir.dtypes import complex_dtype
from pellucid_compiler.ir.expr import (
    LOADS,
    RESULT_RULES,
    SCALAR_OPS,
    Expr,
    intern_expr,
    load,
    load_fill,
    load_index,
    make,
)
from pellucid_compiler.ir.traversal import bottom_up


@dataclass(frozen=True)
class TileProgram:
    """The encoded program and the kernels it calls; empty for kernels of one op."""

    encoded: bytes
    kernels: Mapping[bytes, Kernel]


def encoded_programs(kernels: Mapping[bytes, Kernel]) -> dict[bytes, bytes]:
    """The program of every kernel that has one, by the kernel's id."""
    programs = {key: tile_program(kernel).encoded for key, kernel in kernels.items()}
    return {key: program for key, program in programs.items() if program}


def program_table(programs: Mapping[bytes, bytes]) -> Encodable:
    """The programs as the runtime reads them."""
    return [encode_record(Program(*item)) for item in programs.items()]


_NONE = TileProgram(b"", {})


@lru_cache(8192)  # more than the pack has kernels
def tile_program(kernel: Kernel) -> TileProgram:
    """The program that replaces ``kernel``; made once while it is remembered."""
    form = kernel.form
    kernels: dict[bytes, Kernel] = {}
    described: Encodable
    if isinstance(form, Map):
        if _is_elementary(kernel, form):
            return _NONE
        body = MapProgram(_scalar_program(form.values, kernels))
        described = FORMS.encode("map", body)
    elif isinstance(form, (Reduce, Scan)):
        if form.value.op == "load" and form.value.dtype == form.accumulator:
            return _NONE
        whole = _whole_kernel(form)
        kernels[whole.kernel_id] = whole
        value = _scalar_program([form.value], kernels)
        name = "reduce" if isinstance(form, Reduce) else "scan"
        described = FORMS.encode(name, CombiningProgram(value, whole.kernel_id))
    elif isinstance(form, Rows):
        passes = [_encode_pass(item, kernels) for item in form.passes]
        described = FORMS.encode("rows", RowsProgram(passes))
    elif isinstance(form, Nest):
        described = _nest_program(form, kernels)
    else:
        return _NONE
    program = records.TileProgram(
        described, kernel.outputs, kernel.inputs, kernel.params
    )
    return TileProgram(encode(encode_record(program)), kernels)


def _is_elementary(kernel: Kernel, form: Map) -> bool:
    """Whether it is one op of whole operands; tile programs consist of such kernels."""
    if len(form.values) != 1 or kernel.params:
        return False
    body = form.values[0]
    if body.op in ("load", "const", "checked") or len(body.args) != len(kernel.inputs):
        return False
    pairs = enumerate(body.args)
    return all(a.op == "load" and a.attr == k for k, a in pairs)


def _whole_kernel(form: Reduce | Scan) -> Kernel:
    """The same combination of already computed values."""
    dtype = form.value.dtype
    body = load(0, (), dtype)
    if isinstance(form, Scan):
        whole: Reduce | Scan = Scan(body, form.combine, form.accumulator)
    else:
        whole = Reduce(body, form.combine, form.accumulator)
    if isinstance(form, Reduce) and form.combine.startswith("arg"):
        return Kernel(whole, (dtype,), (form.accumulator, "int64"), ("int64",))
    return Kernel(whole, (dtype,), (form.accumulator,))


def _encode_pass(item: Pass, kernels: dict[bytes, Kernel]) -> Encodable:
    program = _scalar_program([item.value], kernels)
    if isinstance(item, RowReduce):
        first = _whole_kernel(Reduce(item.value, item.combine, item.accumulator))
        again = _whole_kernel(
            Reduce(load(0, (), item.accumulator), item.combine, item.accumulator)
        )
        kernels[first.kernel_id], kernels[again.kernel_id] = first, again
        reduce = ReducePass(program, first.kernel_id, again.kernel_id, item.accumulator)
        return PASSES.encode("reduce", reduce)
    verbs = {RowMap: "map", RowStore: "store", RowAdd: "add"}
    return PASSES.encode(verbs[type(item)], StoringPass(program, item.output))


def _nest_program(form: Nest, kernels: dict[bytes, Kernel]) -> Encodable:
    roots: list[Expr] = []
    for store in form.stores:
        roots += store.exprs
    program = _scalar_program(roots, kernels)
    stores = tuple(StoreRow(len(s.index), s.drop) for s in form.stores)
    ranks = tuple(form.operand_ranks)
    nest = NestProgram(program, form.rank, ranks, form.combine, stores)
    return FORMS.encode("nest", nest)


def _scalar_program(
    roots: Sequence[Expr], kernels: dict[bytes, Kernel]
) -> ScalarProgram:
    builder = _ProgramBuilder(kernels)
    results = tuple(builder.slot(root, None) for root in roots)
    return ScalarProgram(builder.slots, results)


@dataclass(eq=False)
class _ProgramBuilder:
    """Numbers the instructions; a load or check is repeated under another
    condition."""

    kernels: dict[bytes, Kernel]
    slots: list[Encodable] = field(default_factory=list)
    numbers: dict[tuple[Expr, Expr | None], int] = field(default_factory=dict)
    failing: dict[Expr, bool] = field(default_factory=dict)

    def slot(self, e: Expr, mask: Expr | None) -> int:
        if mask is not None and not self._may_fail(e):
            mask = None
        key = (e, mask)
        if key not in self.numbers:
            described = self._describe(e, mask)
            self.slots.append(described)
            self.numbers[key] = len(self.slots) - 1
        return self.numbers[key]

    def _may_fail(self, e: Expr) -> bool:
        """Whether it loads at an index or checks an element."""
        known = self.failing

        def found(e: Expr) -> bool:
            return any(known[a] for a in e.args) or (
                e.op == "checked" or (e.op in LOADS and bool(e.args))
            )

        return bottom_up(e, known, attrgetter("args"), found)

    def _describe(self, e: Expr, mask: Expr | None) -> Encodable:
        if e.op == "const":
            return SLOTS.encode("const", ConstantSlot(e.dtype, e.attr))
        if e.op == "sym":
            kind = "param" if e.attr[0] == "p" else "row"
            return SLOTS.encode(kind, NumberedSlot(e.dtype, int(e.attr[1:])))
        if e.op == "axis":
            return SLOTS.encode("axis", NumberedSlot(e.dtype, e.attr))
        if e.op in LOADS:
            return self._load(e, mask)
        if e.op == "select":
            condition, first, second = e.args
            held = condition if mask is None else make("and", mask, condition)
            other = make("not", condition)
            other = other if mask is None else make("and", mask, other)
            args = [
                self.slot(condition, mask),
                self.slot(first, held),
                self.slot(second, other),
            ]
        else:
            args = [self.slot(a, mask) for a in e.args]
        if e.op == "checked":
            needed = -1 if mask is None else self.slot(mask, None)
            return SLOTS.encode("check", CheckSlot(e.dtype, e.attr, needed, *args))
        if e.op == "bitcast":
            return SLOTS.encode("bitcast", BitcastSlot(e.dtype, args[0]))
        return SLOTS.encode("op", OpSlot(e.dtype, self._kernel(e), tuple(args)))

    def _load(self, e: Expr, mask: Expr | None) -> Encodable:
        index = load_index(e)
        if not index and load_fill(e) is None:
            return SLOTS.encode("input", NumberedSlot(e.dtype, e.attr))
        fill = load_fill(e)
        places = tuple(self.slot(i, mask) for i in index)
        held = -1 if mask is None else self.slot(mask, None)
        filled = -1 if fill is None else self.slot(fill, mask)
        gather = GatherSlot(e.dtype, e.attr, held, filled, places)
        return SLOTS.encode("gather", gather)

    def _kernel(self, e: Expr) -> bytes:
        """The map kernel of this op on whole operands."""
        kernel = _elementary(e.op, tuple(a.dtype for a in e.args), e.dtype, e.attr)
        self.kernels[kernel.kernel_id] = kernel
        return kernel.kernel_id


# ---------------------------------------------------------------- what every pack holds

_INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
_FLOATS = ("float32", "float64")
_STORED = ("bool", *_INTEGERS, "float16", "bfloat16", *_FLOATS)
_COMBINES = ("sum", "prod", "max", "min", "and", "or", "argmax", "argmin")


def elementary_kernels() -> dict[bytes, Kernel]:
    """The kernels that tile programs may call: with them no kernel is missing."""
    made = [*_scalar_kernels(), *_conversion_kernels(), *_combination_kernels()]
    return {kernel.kernel_id: kernel for kernel in made}


def _scalar_kernels() -> Iterator[Kernel]:
    for dtype in ("bool", *_INTEGERS, *_FLOATS):
        yield _elementary("select", ("bool", dtype, dtype), dtype)
        for name, op in SCALAR_OPS.items():
            operand, result = RESULT_RULES[op.result](dtype)
            refused = {"floats": dtype not in _FLOATS, "integers": dtype in _FLOATS}
            if operand != dtype or refused.get(op.domain, op.domain == "complex"):
                continue
            yield _elementary(name, (dtype,) * op.arity, result)
    for dtype in _FLOATS:
        whole = complex_dtype(dtype)
        yield _elementary("complex", (dtype, dtype), whole)
        yield _elementary("real", (whole,), dtype)
        yield _elementary("imag", (whole,), dtype)
        yield _elementary("select", ("bool", whole, whole), whole)


@lru_cache(4096)
def _elementary(
    op: str, operands: tuple[str, ...], dtype: str, attr: Any = None
) -> Kernel:
    """One op of whole operands, named once: every program consists of these."""
    loads = tuple(load(k, (), d) for k, d in enumerate(operands))
    return Kernel(Map((intern_expr(op, loads, attr, dtype),)), operands, (dtype,))


def _conversion_kernels() -> Iterator[Kernel]:
    for source, target in itertools.permutations(_STORED, 2):
        yield _elementary("cast", (source,), target)


def _combination_kernels() -> Iterator[Kernel]:
    for dtype, combine in itertools.product(("bool", *_INTEGERS, *_FLOATS), _COMBINES):
        is_logic = combine in ("and", "or")
        if is_logic != (dtype == "bool") and not combine.startswith("arg"):
            continue
        yield _whole_kernel(Reduce(load(0, (), dtype), combine, dtype))
        if combine in ("sum", "prod", "max", "min"):
            yield _whole_kernel(Scan(load(0, (), dtype), combine, dtype))
