"""What a kernel computes: a form, the dtypes it reads and writes, and scalar bodies.

A ``Kernel`` is the unit of the kernel pack. Lowering makes it from loops of a Graph,
``generate.py`` turns it into machine code and the runtime finds it by ``kernel_id``.
Bodies are Exprs in which ``load(k, ())`` reads operand ``k`` and ``sym("p3")`` is
parameter 3, a number. Sizes and strides are arguments of the machine code, never part
of the Kernel.

Every kernel has one C signature, ``int64_t kernel(char* const* data, const int64_t*
sizes, const int64_t* strides, const uint64_t* params)``: ``data`` has the outputs'
pointers, then the inputs'; strides are in bytes; each parameter takes 64 bits. It
returns 0 or a status, ``code << 48 | detail`` (``status.py``). The layout of ``sizes``
and ``strides`` depends on the form: see its class. The bodies of maps, reductions and
nests may check their elements: if check number n fails, the status says so, and the
outputs may have been written.

Read next: ``emit.py`` (bodies), ``schedules/`` (one module per form).
"""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from pellucid_compiler.ir.expr import Expr
from pellucid_compiler.ir.show import short_dtype
from pellucid_compiler.ir.traversal import symbols, walk, without_partials

BLOCK = 4096
"""Reduced elements per call of a reduce kernel; partials beyond it form a tree."""


@dataclass(frozen=True, eq=False)
class Map:
    """Each output element is computed from the input elements at the same place.

    sizes = {inner, outer}; strides per operand {inner, outer}. A load of operand
    ``k >= len(inputs)`` is not allowed: an output is only written, but it may be the
    same memory as an input of its dtype with the same strides.
    """

    values: tuple[Expr, ...]

    def lines(self) -> list[str]:
        return canonical_lines(self.values)


class Tree(NamedTuple):
    """The order in which a kernel combines, if it is that of another kernel: lanes of
    ``bits``, and the number of vectors at a time in each loop that combines.
    """

    bits: int
    unrolls: tuple[int, ...]

    def line(self) -> str:
        return f"tree {self.bits} {' '.join(map(str, self.unrolls))}"


@dataclass(frozen=True, eq=False)
class Reduce:
    """Each output element is computed from a run of at most ``BLOCK`` input elements.

    ``combine`` is sum prod max min and or argmax argmin. sizes = {stored, reduced};
    strides per operand {stored, reduced}. Values are computed, then combined in the
    ``accumulator`` dtype. max and min propagate NaN. argmax and argmin have the outputs
    (value, int64 index); the last parameter, an int64, is the first element's index; of
    equal elements the first wins, and so does a NaN.
    """

    value: Expr
    combine: str
    accumulator: str
    tree: Tree | None = None

    def lines(self) -> list[str]:
        heads = [self.tree.line()] if self.tree else []
        heads.append(f"{self.combine} {self.accumulator}")
        return [*heads, *canonical_lines((self.value,))]


@dataclass(frozen=True, eq=False)
class RowReduce:
    """A pass over a row; later passes read its result as ``sym("r0")``, ``"r1"``..."""

    value: Expr
    combine: str
    accumulator: str


@dataclass(frozen=True, eq=False)
class RowMap:
    """A pass over a row that writes output ``output``; later passes may load operand
    ``len(inputs) + output``."""

    value: Expr
    output: int


@dataclass(frozen=True, eq=False)
class RowStore:
    """One number per row, written to output ``output`` (its column stride is 0)."""

    value: Expr
    output: int


@dataclass(frozen=True, eq=False)
class RowAdd:
    """A pass over a row that accumulates into output ``output``, a number per column,
    which the caller clears before the first row.
    """

    value: Expr
    output: int


Pass: TypeAlias = RowReduce | RowMap | RowStore | RowAdd
_VERBS = {RowMap: "map", RowStore: "store", RowAdd: "add"}


@dataclass(frozen=True, eq=False)
class Rows:
    """Several passes over each row: softmax, layer_norm, their backwards.

    sizes = {columns, rows}; strides per operand {column, row}. A per-row operand has
    column stride 0, a per-column operand has row stride 0. ``per_row``: the inputs
    known to be one number per row.
    """

    passes: tuple[Pass, ...]
    per_row: tuple[int, ...] = ()
    tree: Tree | None = None

    def lines(self) -> list[str]:
        heads = [self.tree.line()] if self.tree else []
        if self.per_row:
            heads.append(f"per row {' '.join(map(str, self.per_row))}")
        for item in self.passes:
            if isinstance(item, RowReduce):
                heads.append(f"{item.combine} {item.accumulator}")
            else:
                heads.append(f"{_VERBS[type(item)]} {item.output}")
        return [*heads, *canonical_lines([item.value for item in self.passes])]


@dataclass(frozen=True, eq=False)
class Scan:
    """A running combination along the first size. ``combine``: sum prod max min.

    sizes = {length, outer}; strides per operand {along, outer}. The carry has
    the ``accumulator`` dtype, sums and products of float32 in float64.
    """

    value: Expr
    combine: str
    accumulator: str

    def lines(self) -> list[str]:
        return [f"{self.combine} {self.accumulator}", *canonical_lines((self.value,))]


@dataclass(frozen=True, eq=False)
class Store:
    """``out[index] <- value`` at every point; ``drop`` ignores places out of bounds.

    ``payload``, for argmax and argmin: what is stored for the best value's point.
    """

    index: tuple[Expr, ...]
    value: Expr
    drop: bool = False
    payload: Expr | None = None

    @property
    def exprs(self) -> list[Expr]:
        found = [*self.index, self.value]
        return found if self.payload is None else [*found, self.payload]


@dataclass(frozen=True, eq=False)
class Nest:
    """Any loop nest: checked gathers and stores at computed indices.

    ``axis(d)`` runs over the extents, ``axis(0)`` from the call's own begin.
    ``combine`` is assign, or how a store is combined with the existing value: sum prod
    max min and or. For argmax or argmin, the payload of the first best one of an
    element's points is stored; the innermost axes run over these points, and NaN is
    better than any number. A second output of the same shape receives the best values.
    sizes = {begin, end, the other extents, then each operand's shape, outputs first};
    strides = one per dimension of each operand, in the same order. The index of a load
    or store is checked, except for the dims of operands (inputs first, then the output)
    in ``proved``: the maker of the Kernel has proved their indices in bounds. Padded
    loads are always checked. ``channels_last_order``: the order of the axes for a
    channels-last output; empty if it is always the numbering. ``begins``: each element,
    whose points the innermost axes run over, starts as the identity of ``combine``,
    whatever its memory contains.
    """

    rank: int
    operand_ranks: tuple[int, ...]
    stores: tuple[Store, ...]
    combine: str = "assign"
    proved: frozenset[tuple[int, int]] = frozenset()
    channels_last_order: tuple[int, ...] = ()
    begins: bool = False

    def lines(self) -> list[str]:
        ranks = " ".join(map(str, self.operand_ranks))
        proved = "".join(f" {k}.{dim}" for k, dim in sorted(self.proved))
        order = "".join(f" {axis}" for axis in self.channels_last_order)
        roots: list[Expr] = []
        for store in self.stores:
            roots += store.exprs
        drops = "".join("d" if store.drop else "s" for store in self.stores)
        head = f"{self.combine} {self.rank} [{ranks}] {drops}"
        head += (proved and f" proved{proved}") + (order and f" channels_last{order}")
        head += " begins" if self.begins else ""
        return [head, *canonical_lines(roots)]


@dataclass(frozen=True, eq=False)
class Gemm:
    """``C = A B + bias``: see ``schedules/gemm.py``. Inputs are A, B and the bias."""

    def lines(self) -> list[str]:
        return []


@dataclass(frozen=True, eq=False)
class Member:
    """A kernel of a block. ``classes``: of its axes, whose first ``stored`` number its
    results. ``operands``: its outputs, then its inputs, as values of the block. Its
    parameters are the block's from ``first_param`` on.
    """

    kernel: Kernel
    stored: int
    classes: tuple[int, ...]
    operands: tuple[int, ...]
    first_param: int

    @property
    def num_params(self) -> int:
        """Of the block; a product's are its driver's."""
        return 0 if isinstance(self.kernel.form, Gemm) else len(self.kernel.params)

    def lines(self) -> list[str]:
        numbers = (self.stored, self.first_param, *self.classes)
        head = f"member {_words(numbers)} of {_words(self.operands)}"
        return [head, *(f"> {line}" for line in self.kernel.text.splitlines())]


@dataclass(frozen=True, eq=False)
class Block:
    """Kernels that share classes of axes: attention and its gradient. For devices; the
    CPU runs the members block by block (``lower/blocks.py``).

    Classes are ``parallel``, then ``ordered``, then the one of rows, then others. A
    member may add along ordered classes, and along rows if these are ``in_order``.
    ``values``: per value the class that each dim follows, -1 for none: the operands,
    outputs first, then those that only members see. Of the class ``triangle``, of
    columns, a row needs those up to its own number; -1: all classes are whole.
    """

    members: tuple[Member, ...]
    values: tuple[tuple[int, ...], ...]
    parallel: int
    ordered: int
    in_order: bool
    triangle: int

    @property
    def num_classes(self) -> int:
        return 1 + max(cls for member in self.members for cls in member.classes)

    def lines(self) -> list[str]:
        numbers = (self.parallel, self.ordered, int(self.in_order), self.triangle)
        heads = [_words(numbers), *(f"value {_words(v)}" for v in self.values)]
        return [*heads, *(line for m in self.members for line in m.lines())]


def _words(numbers: tuple[int, ...]) -> str:
    return " ".join(map(str, numbers))


Form: TypeAlias = Map | Reduce | Rows | Scan | Nest | Gemm | Block


@dataclass(frozen=True, eq=False)
class Kernel:
    """A form with the dtypes of its operands and parameters, in order.

    Kernels are equal if their texts are; forms and passes are not compared, because
    ``==`` of their Exprs builds a comparison.
    """

    form: Form
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    params: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Kernel):
            return NotImplemented
        return self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    @functools.cached_property
    def text(self) -> str:
        """The canonical text, by which kernels are named and compared."""
        operands = [
            "(" + ", ".join(map(short_dtype, group)) + ")"
            for group in (self.inputs, self.params, self.outputs)
        ]
        head = f"{type(self.form).__name__.lower()} {' '.join(operands[:2])} -> "
        return "\n".join([head + operands[2], *self.form.lines()]) + "\n"

    @functools.cached_property
    def kernel_id(self) -> bytes:
        """The kernel's name in packs and caches: 16 bytes of its text's SHA-256."""
        return hashlib.sha256(self.text.encode()).digest()[:16]


def canonical_lines(roots: tuple[Expr, ...] | list[Expr]) -> list[str]:
    """The expressions as numbered instructions; shared subexpressions occur once.

    The numbering depends only on the structure, so the text can name a kernel.
    """
    bare = [without_partials(root) for root in roots]
    numbers: dict[Expr, int] = {}
    lines = []
    for number, e in enumerate(walk(*bare)):
        numbers[e] = number
        words = [e.op, short_dtype(e.dtype)]
        if e.op == "const":
            words.append(_constant_text(e.attr))
        elif e.attr is not None:
            words.append(str(e.attr))
        words += [f"%{numbers[arg]}" for arg in e.args]
        lines.append(f"%{number} = {' '.join(words)}")
    return [*lines, "return " + " ".join(f"%{numbers[root]}" for root in bare)]


def _constant_text(value: bool | int | float | complex) -> str:
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, complex):
        return f"{value.real.hex()} {value.imag.hex()}"
    return repr(value)


def parameter_number(e: Expr) -> int:
    """The position of the parameter of a ``sym`` of a kernel body."""
    name = str(e.attr)
    if name[:1] != "p" or not name[1:].isdigit():
        raise ValueError(f"kernel bodies name parameters p0, p1, ...; found {name!r}")
    return int(name[1:])


def check_kernel(kernel: Kernel, roots: list[Expr], results: int = 0) -> None:
    """Raise ``ValueError`` if a body refers to missing operands or parameters."""
    operands = len(kernel.inputs) + len(kernel.outputs)
    for e in walk(*roots):
        if e.op in ("load", "padded_load") and not 0 <= e.attr < operands:
            raise ValueError(f"{e} reads operand {e.attr} of {operands}")
        if not isinstance(kernel.form, Nest) and (e.op in ("axis", "padded_load")):
            raise ValueError(f"only a nest has axes and padded loads; found {e}")
        if e.op == "checked" and not isinstance(kernel.form, Map | Reduce | Nest):
            raise ValueError(f"rows and scans check no elements; found {e}")
    for e in symbols(*roots):
        if str(e.attr).startswith("r"):
            if int(str(e.attr)[1:]) >= results:
                raise ValueError(f"{e} is read before the pass that computes it")
        elif parameter_number(e) >= len(kernel.params):
            raise ValueError(f"{e} is not one of the {len(kernel.params)} parameters")
