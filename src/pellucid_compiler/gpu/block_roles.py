"""What the members of a block do, and in which sweep over the columns.

A block's rows and columns are two classes: scores have both. A *score* is a product
along features; an *average* is a product along columns, into results by row and
feature; a *gradient of columns* is a product along rows, into results by column and
feature. Rows kernels reduce along columns, and everything else is computed element by
element where it is read.

A reduction's result exists once a sweep over all columns has ended, so what reads it
belongs to a later sweep. The exception is softmax: what is proportional to
``exp(x - max(x))``, an infinite maximum counting as zero, is added up in the sweep that
seeks the maximum, and scaled whenever the maximum grows (the *online* form). Blocks
that do not fit are refused, and their members run one by one. Read next:
``attention.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from pellucid_compiler.codegen.kernel import (
    Block,
    Gemm,
    Map,
    Member,
    RowMap,
    RowReduce,
    Rows,
    RowStore,
)
from pellucid_compiler.codegen.schedules.map import failures_of
from pellucid_compiler.ir.expr import Expr, is_const
from pellucid_compiler.ir.traversal import walk, without_partials

SUMMED = {"float64": "float64", "float32": "float32"}
SUMMED |= dict.fromkeys(("float16", "bfloat16"), "float32")


@dataclass(frozen=True, eq=False)
class Reduction:
    """A number per row: ``name`` in the bodies of member ``member``. ``top``: the
    maximum that it scales with."""

    member: int
    name: str
    item: RowReduce
    value: Expr
    sweep: int
    top: Reduction | None


@dataclass(frozen=True, eq=False)
class Product:
    """A product: ``result`` is the number of its value, ``tile`` of the factor with the
    class of rows, or for sums over rows and columns the factor that has both;
    ``other`` of the other factor. ``along``: the class of the features."""

    result: int
    tile: int
    other: int
    along: int
    summed: str
    dtype: str
    sweep: int = 0
    top: Reduction | None = None


def columns_of_results(form: Block) -> tuple[int, ...]:
    """The classes along which averages and gradients have columns; none of a block that
    is refused."""
    try:
        roles = Roles(form, 0)
    except NotImplementedError:
        return ()
    products = (*roles.averages.values(), *roles.gradients.values())
    return tuple(dict.fromkeys(product.along for product in products))


def _columns(form: Block) -> int:
    """The class along which rows are reduced; NotImplementedError unless it is one."""
    reduced = {
        member.classes[member.stored :]
        for member in form.members
        if isinstance(member.kernel.form, Rows)
    }
    if len(reduced) != 1 or len(next(iter(reduced))) != 1:
        raise NotImplementedError("a block whose rows have several classes of columns")
    return next(iter(reduced))[0]


class Roles:
    """The members by what they do, in the order of the plan. The first
    ``num_outputs`` values are the block's results."""

    def __init__(self, form: Block, num_outputs: int) -> None:
        self.form, self.num_outputs = form, num_outputs
        self.rows, self.columns = form.parallel + form.ordered, _columns(form)
        self.bodies: dict[int, tuple[int, Expr]] = {}
        self.reductions: list[Reduction] = []
        self.scores: dict[int, Product] = {}
        self.averages: dict[int, Product] = {}
        self.gradients: dict[int, Product] = {}
        self._named: dict[tuple[int, str], Reduction] = {}
        for number, member in enumerate(form.members):
            if isinstance(member.kernel.form, Gemm):
                self._add_product(member)
            elif isinstance(member.kernel.form, Rows):
                self._add_rows(number, member, member.kernel.form)
            else:
                assert isinstance(member.kernel.form, Map)
                if failures_of(member.kernel.form):
                    raise NotImplementedError("a block whose elements are checked")
                values = member.kernel.form.values
                for operand, value in zip(member.operands, values, strict=False):
                    self.bodies[operand] = number, without_partials(value)
        self._check_outputs()

    @property
    def num_sweeps(self) -> int:
        own = [reduction.sweep for reduction in self.reductions]
        for products in (self.averages, self.gradients):
            own += [product.sweep for product in products.values()]
        return 1 + max(own + [self.ready(v) for v in self.matrices])

    @property
    def products(self) -> list[Product]:
        parts = self.scores, self.averages, self.gradients
        return [product for part in parts for product in part.values()]

    @property
    def matrices(self) -> list[int]:
        """The results by row and column."""
        both = {self.rows, self.columns}
        return [v for v in range(self.num_outputs) if self.kind(v) == both]

    @property
    def is_in_order(self) -> bool:
        """Whether one block of threads takes all rows, as members add along them."""
        return self.form.in_order or self.form.ordered > 0

    def kind(self, value: int) -> set[int]:
        """The classes of a value, without those before the rows."""
        return {c for c in self.form.values[value] if c >= self.rows}

    def source(self, member: int, e: Expr) -> int:
        """The value that a body loads: an input, or an own output."""
        own = self.form.members[member]
        outputs, inputs = len(own.kernel.outputs), len(own.kernel.inputs)
        at: int = e.attr + outputs if e.attr < inputs else e.attr - inputs
        return own.operands[at]

    def dtype(self, value: int) -> str:
        """In which kernels have a value."""
        member = next(m for m in self.form.members if value in m.operands)
        dtypes = (*member.kernel.outputs, *member.kernel.inputs)
        return dtypes[member.operands.index(value)]

    def is_top(self, reduction: Reduction) -> bool:
        """Whether others scale with it."""
        tops = [other.top for other in self.reductions]
        tops += [product.top for product in self.averages.values()]
        return any(top is reduction for top in tops)

    def reduction(self, member: int, e: Expr) -> Reduction:
        return self._named[member, str(e.attr)]

    def scores_below(self, member: int, e: Expr) -> Iterator[int]:
        """The scores that a body reads, directly or not."""
        for leaf in walk(e):
            if leaf.op == "load":
                yield from self.scores_of(self.source(member, leaf))

    def scores_of(self, value: int) -> Iterator[int]:
        if value in self.scores:
            yield value
        elif value in self.bodies:
            yield from self.scores_below(*self.bodies[value])

    # ------------------------------------------------------------------ sweeps

    def ready(self, value: int) -> int:
        """The first sweep in which a value can be computed."""
        if value in self.bodies:
            return self._ready(*self.bodies[value])
        if value in self.scores:
            found = self.scores[value]
            return max(self.ready(found.tile), self.ready(found.other))
        return self.averages[value].sweep + 1 if value in self.averages else 0

    def _ready(self, member: int, e: Expr) -> int:
        found = 0
        for leaf in walk(e):
            if leaf.op == "load":
                found = max(found, self.ready(self.source(member, leaf)))
            elif leaf.op == "sym" and str(leaf.attr).startswith("r"):
                found = max(found, self.reduction(member, leaf).sweep + 1)
        return found

    def _add_rows(self, number: int, member: Member, form: Rows) -> None:
        names = 0
        for item in form.passes:
            value = without_partials(item.value)
            if isinstance(item, RowReduce):
                if item.combine not in ("sum", "max", "min"):
                    raise NotImplementedError(f"a {item.combine} along columns")
                top = self._top(number, value) if item.combine == "sum" else None
                sweep = top.sweep if top else self._ready(number, value)
                name = f"r{names}"
                made = Reduction(number, name, item, value, sweep, top)
                self.reductions.append(made)
                self._named[number, name] = made
                names += 1
            elif isinstance(item, (RowMap, RowStore)):
                self.bodies[member.operands[item.output]] = number, value
            else:
                raise NotImplementedError("sums over the rows of a block")

    def _add_product(self, member: Member) -> None:
        result, first, second, *bias = member.operands
        depth, kernel = set(member.classes[member.stored :]), member.kernel
        if bias or kernel.inputs[0] not in SUMMED:
            raise NotImplementedError(f"a block with products of {kernel.inputs[0]}")
        both, have = {self.rows, self.columns}, self.kind(result)
        kinds = self.kind(first), self.kind(second)
        if depth.isdisjoint(both) and have == both:
            role, of_tile, features = self.scores, self.rows, depth
        elif depth == {self.columns} and self.rows in have:
            role, of_tile, features = self.averages, self.rows, have - both
        elif self.rows in depth and self.columns in have:
            role, of_tile, features = self.gradients, self.columns, have - both
        else:
            raise NotImplementedError("a block with a product of another form")
        tile, other = (first, second) if of_tile in kinds[0] else (second, first)
        wanted = both if role is not self.scores else {self.rows} | features
        if len(features) != 1 or self.kind(tile) != wanted:
            raise NotImplementedError("a block with products of several features")
        (along,) = features
        dtype = kernel.inputs[0]
        made = Product(result, tile, other, along, SUMMED[dtype], kernel.outputs[0])
        if role is not self.scores:
            made = self._swept(made, is_average=role is self.averages)
        role[result] = made

    def _swept(self, made: Product, *, is_average: bool) -> Product:
        top = None
        if is_average and made.tile in self.bodies:
            top = self._top(*self.bodies[made.tile])
        if top is not None and self.ready(made.other) > top.sweep:
            top = None
        sweep = max(self.ready(made.tile), self.ready(made.other))
        return replace(made, sweep=top.sweep if top else sweep, top=top)

    # ------------------------------------------------------------------ online

    def _top(self, member: int, e: Expr) -> Reduction | None:
        """The maximum with which ``e`` scales, if any."""
        tops = (r for r in self.reductions if r.item.combine == "max")
        return next((top for top in tops if self._scales(member, e, top)), None)

    def _scales(self, member: int, e: Expr, top: Reduction) -> bool:
        """Whether ``e`` is proportional to ``exp(x - top)``, ``x`` being what ``top``
        is the maximum of."""
        if e.op == "exp" and e.args[0].op == "sub" and member == top.member:
            x, shift = e.args[0].args
            return x is top.value and _is_finite_part(shift, top.name)
        if e.op == "load":
            value = self.source(member, e)
            return value in self.bodies and self._scales(*self.bodies[value], top)
        if e.op in ("neg", "cast") and e.dtype in SUMMED:
            return self._scales(member, e.args[0], top)

        def is_free(arg: Expr) -> bool:
            return self._ready(member, arg) <= top.sweep

        if e.op == "select":
            condition, *values = e.args
            return is_free(condition) and all(
                is_const(v, 0) or self._scales(member, v, top) for v in values
            )
        if e.op not in ("mul", "div"):
            return False
        first, second = e.args
        if is_free(second) and self._scales(member, first, top):
            return True
        return e.op == "mul" and is_free(first) and self._scales(member, second, top)

    def _check_outputs(self) -> None:
        for value in range(self.num_outputs):
            kind = self.kind(value) - {self.rows, self.columns}
            is_known = value in self.gradients or self.rows in self.kind(value)
            if not is_known or len(kind) > 1 or (kind and value in self.matrices):
                raise NotImplementedError("a block with results of another form")
        if not self.scores or not self.reductions:
            raise NotImplementedError("a block without scores")
        for product in (*self.scores.values(), *self.gradients.values()):
            for value in (product.tile, product.other):
                _require_elements(self, value)


def _require_elements(roles: Roles, value: int) -> None:
    """A factor must be computable at any place: not from averages or gradients."""
    if value in roles.averages or value in roles.gradients:
        raise NotImplementedError("a block with products of its own averages")
    if value in roles.bodies:
        member, body = roles.bodies[value]
        for leaf in walk(body):
            if leaf.op == "load":
                _require_elements(roles, roles.source(member, leaf))


def _is_finite_part(e: Expr, name: str) -> bool:
    """Whether ``e`` is the maximum ``name``, or 0 where that is infinite."""
    if e.op != "select" or e.args[0].op != "isinf" or not is_const(e.args[1], 0):
        return False
    maximum = e.args[2]
    return maximum is e.args[0].args[0] and maximum.op == "sym" and maximum.attr == name
