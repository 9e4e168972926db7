"""The cost of a Plan's steps in one call: operations and memory traffic as run.

``ir/cost.py`` counts a Graph as written; this counts the result of lowering: fused
loops, values stored between steps, blocks whose local values never reach memory,
triangles whose excluded columns are skipped. Sizes come from the plan's registers,
operations from the kernels' bodies, bytes from the distinct elements that operands
access. Which driver ran a product is known only at run time
(``profiler/_timeline/costs.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from pellucid_compiler.abi.limits import TRIANGLE_PIECES, TRIANGLE_ROWS
from pellucid_compiler.abi.plan import (
    NO_REGISTER,
    BlockStep,
    CopyStep,
    FillStep,
    GemmStep,
    GeneralStep,
    LibraryStep,
    NestStep,
    NonzeroStep,
    Operand,
    Plan,
    RecurrenceStep,
    ScanStep,
    Step,
    kind_of,
)
from pellucid_compiler.codegen.kernel import (
    Kernel,
    Map,
    Nest,
    Reduce,
    RowAdd,
    RowReduce,
    Rows,
    Scan,
)
from pellucid_compiler.ir.cost import Cost, operation_class, reached
from pellucid_compiler.ir.dtypes import ITEMSIZE, is_float
from pellucid_compiler.ir.expr import LOADS, Expr, axis, const, load_index
from pellucid_compiler.ir.traversal import walk, without_partials
from pellucid_compiler.lower.plan import step_inputs, step_outputs
from pellucid_compiler.lower.register_values import register_values


@dataclass
class StepCost:
    """One step: its kind, the label of its kernel, and its cost."""

    kind: str
    label: str
    cost: Cost = field(default_factory=Cost)


def plan_cost(
    plan: Plan,
    kernels: Mapping[bytes, Kernel],
    shapes: Sequence[Sequence[int]],
    arguments: Sequence[Any] = (),
) -> list[StepCost]:
    """The cost of each step that computes or moves; ``shapes``: of the plan's inputs,
    ``arguments``: of the call, by their position in the schema.
    """
    registers = register_values(plan, shapes, arguments)
    counter = _Counter(plan, kernels, registers, shapes, arguments)
    costs = []
    for step in plan.steps:
        found = counter.of(step)
        if found is not None:
            costs.append(found)
    return costs


def total(costs: Sequence[StepCost]) -> Cost:
    """The sum of the steps' costs."""
    result = Cost()
    for step in costs:
        result.add(step.cost)
    return result


class _Counter:
    def __init__(
        self,
        plan: Plan,
        kernels: Mapping[bytes, Kernel],
        registers: Sequence[Any],
        shapes: Sequence[Sequence[int]],
        arguments: Sequence[Any],
    ) -> None:
        self.plan, self.kernels = plan, kernels
        self.registers, self.shapes = registers, shapes
        self.arguments = arguments

    def of(self, step: Step) -> StepCost | None:
        """None for steps that neither compute nor move elements."""
        kind = kind_of(step)
        count = _COUNTS.get(kind)
        if count is None:
            return None
        use = getattr(step, "kernel", None)
        label = use.label if use is not None else getattr(step, "name", "")
        return StepCost(kind, label, count(self, step))

    def sizes(self, value: int) -> tuple[int, ...]:
        """The shape of a value."""
        if value < self.plan.num_inputs:
            return tuple(self.shapes[value])
        return tuple(int(self.registers[r]) for r in self.plan.values[value].sizes)

    def nbytes(self, value: int) -> int:
        """The bytes of a value."""
        return prod(self.sizes(value)) * ITEMSIZE[self.plan.values[value].dtype]

    def extents(self, step: Any) -> list[int]:
        """The extents of the step's axes."""
        return [int(self.registers[r]) for r in step.extents]

    def read(self, cost: Cost, operands: Sequence[Operand], extents: list[int]) -> None:
        """Count the distinct elements that operands access as read."""
        cost.bytes_read += self._moved(cost, operands, extents)

    def written(
        self, cost: Cost, operands: Sequence[Operand], extents: list[int]
    ) -> None:
        """Count the distinct elements that operands access as written."""
        cost.bytes_written += self._moved(cost, operands, extents)

    def _moved(
        self, cost: Cost, operands: Sequence[Operand], extents: list[int]
    ) -> int:
        by_value: dict[int, list[tuple[Expr, ...]]] = {}
        for operand in operands:
            index = tuple(map(self._index, operand.dims))
            by_value.setdefault(operand.value, []).append(index)
        nbytes = 0
        for value, indices in by_value.items():
            count, exact = reached(indices, extents, self.sizes(value), {})
            nbytes += count * ITEMSIZE[self.plan.values[value].dtype]
            cost.exact = cost.exact and exact
        return nbytes

    def _index(self, dim: Any) -> Expr:
        start = 0 if dim.offset == NO_REGISTER else int(self.registers[dim.offset])
        index: Expr | None = const(start) if start or not dim.terms else None
        for number, coefficient in dim.terms:
            term: Expr = axis(number)
            factor = 1 if coefficient == NO_REGISTER else self.registers[coefficient]
            if factor != 1:
                term = term * const(int(factor))
            index = term if index is None else index + term
        assert index is not None
        return index


def _count_body(cost: Cost, body: Expr, times: Callable[[Expr], int]) -> None:
    """Count the operations of a kernel's body, ``times(e)`` of each."""
    found: dict[Expr, None] = {}

    def visit(e: Expr) -> None:
        if e not in found:
            found[e] = None
            operands = e.args if e.op not in LOADS else ()
            for operand in operands:
                visit(operand)

    visit(without_partials(body))
    for e in found:
        kind = operation_class(e)
        if kind is not None and e.args:
            cost.operations[kind] += times(e)


def _combining(dtype: str) -> str:
    return "arithmetic" if is_float(dtype) else "integer"


def _affine_cost(self: _Counter, step: NestStep | ScanStep) -> Cost:
    cost, extents = Cost(), self.extents(step)
    form = self.kernels[step.kernel.id].form
    points = prod(extents)
    if isinstance(form, Map):
        for body in form.values:
            _count_body(cost, body, lambda _: points)
    elif isinstance(form, Reduce | Scan):
        _count_body(cost, form.value, lambda _: points)
        cost.operations[_combining(form.accumulator)] += points
        is_product = isinstance(form, Reduce) and form.combine == "sum"
        if is_product and _multiplies_loads(form.value):
            cost.products += 2 * points
    else:
        assert isinstance(form, Rows) and isinstance(step, NestStep)
        _count_rows(cost, form, points, prod(extents[: step.num_stored]))
    self.read(cost, step.inputs, extents)
    self.written(cost, step.outputs, extents)
    return cost


def _multiplies_loads(body: Expr) -> bool:
    body = without_partials(body)
    while body.op == "cast":
        body = body.args[0]
    return body.op == "mul" and all(_loads(factor) for factor in body.args)


def _loads(e: Expr) -> list[Expr]:
    return [part for part in walk(e) if part.op in LOADS]


def _count_rows(cost: Cost, form: Rows, points: int, rows: int) -> None:
    """Column-independent operations are counted once per row."""

    def times(e: Expr) -> int:
        varies = any(load.attr not in form.per_row for load in _loads(e))
        return points if varies else rows

    for item in form.passes:
        _count_body(cost, item.value, times)
        if isinstance(item, RowReduce):
            cost.operations[_combining(item.accumulator)] += points
        elif isinstance(item, RowAdd):
            cost.operations[_combining(item.value.dtype)] += points


def _product_cost(self: _Counter, step: GemmStep) -> Cost:
    cost, extents = Cost(), self.extents(step)
    points = prod(extents)
    dtype = self.plan.values[step.output.value].dtype
    cost.operations[_combining(dtype)] += 2 * points
    cost.products += 2 * points
    if len(step.inputs) > 2:
        cost.operations[_combining(dtype)] += prod(self.sizes(step.output.value))
    self.read(cost, step.inputs, extents)
    self.written(cost, (step.output,), extents)
    return cost


def _general_cost(self: _Counter, step: GeneralStep) -> Cost:
    cost, extents = Cost(), self.extents(step)
    form = self.kernels[step.kernel.id].form
    assert isinstance(form, Nest)
    env = {f"p{k}": self.registers[r] for k, r in enumerate(step.kernel.params)}
    points = prod(extents)
    indices: dict[int, list[tuple[Expr, ...]]] = {}
    for store in form.stores:
        _count_body(cost, store.value, lambda _: points)
        if form.combine != "assign":
            cost.operations[_combining(store.value.dtype)] += points
            if form.combine == "sum" and _multiplies_loads(store.value):
                cost.products += 2 * points
        for e in walk(*map(without_partials, store.exprs)):
            if e.op in LOADS:
                indices.setdefault(step.inputs[e.attr], []).append(load_index(e))
    for value, places in indices.items():
        count, exact = reached(places, extents, self.sizes(value), env)
        cost.bytes_read += count * ITEMSIZE[self.plan.values[value].dtype]
        cost.exact = cost.exact and exact
    for value in step.outputs:
        cost.bytes_written += self.nbytes(value)
    return cost


def _block_cost(self: _Counter, step: BlockStep) -> Cost:
    """Only the whole block's inputs and outputs count; local values stay cached."""
    cost = Cost()
    local = {item.value for item in step.locals}
    for inner, axes in zip(step.steps, step.axes, strict=True):
        found = self.of(inner)
        assert found is not None
        part = found.cost
        cost.exact = cost.exact and part.exact
        share = _triangle_share(self, step, axes)
        for kind, count in part.operations.items():
            cost.operations[kind] += round(count * share)
        cost.products += round(part.products * share)
    reads = [o for inner in step.steps for o in inner.inputs]
    made = {value for inner in step.steps for value in step_outputs(inner)}
    seen: set[int] = set()
    for operand in reads:
        if operand.value not in local | made | seen:
            seen.add(operand.value)
            cost.bytes_read += self.nbytes(operand.value)
    cost.bytes_written += sum(map(self.nbytes, made - local))
    return cost


def _triangle_share(self: _Counter, step: BlockStep, axes: Sequence[int]) -> float:
    """The fraction of its points that a step of a triangle computes."""
    cut = step.parallel + step.sequential
    if step.triangle < 0 or step.triangle not in axes or cut not in axes:
        return 1.0
    extents = self.extents(step)
    rows, columns = extents[cut], extents[step.triangle]
    piece = max(TRIANGLE_ROWS, -(-rows // TRIANGLE_PIECES))
    ends = [min(begin + piece, rows) for begin in range(0, rows, piece)]
    begins = [0, *ends[:-1]]
    done = sum(
        (end - begin) * min(end, columns)
        for begin, end in zip(begins, ends, strict=True)
    )
    return done / max(rows * columns, 1)


def _recurrence_cost(self: _Counter, step: RecurrenceStep) -> Cost:
    cost = Cost()
    length = int(self.registers[step.length])
    bound = {inner: self.registers[outer] for inner, outer in step.bound}
    shapes = [self.sizes(v) for v in step.carries]
    shapes += [self.sizes(v)[1:] for v in step.sequences]
    shapes += [self.sizes(v) for v in step.constants]
    registers = register_values(step.body, shapes, self.arguments, bound)
    inner = _Counter(step.body, self.kernels, registers, shapes, self.arguments)
    for part in step.body.steps:
        found = inner.of(part)
        if found is not None:
            cost.add(found.cost, length)
    return cost


def _moved_whole(self: _Counter, step: Step) -> Cost:
    return Cost(
        bytes_read=sum(map(self.nbytes, step_inputs(step))),
        bytes_written=sum(map(self.nbytes, step_outputs(step))),
    )


def _library_cost(self: _Counter, step: LibraryStep) -> Cost:
    cost = _moved_whole(self, step)
    cost.exact = False
    return cost


def _nonzero_cost(self: _Counter, step: NonzeroStep) -> Cost:
    return Cost(bytes_read=self.nbytes(step.source), exact=False)


def _copied(self: _Counter, step: FillStep | CopyStep) -> Cost:
    return _moved_whole(self, step)


_COUNTS: dict[str, Any] = {
    **dict.fromkeys(("map", "reduce", "rows", "scan"), _affine_cost),
    "gemm": _product_cost,
    "nest": _general_cost,
    "block": _block_cost,
    "recurrence": _recurrence_cost,
    "fill": _copied,
    "copy": _copied,
    "library": _library_cost,
    "nonzero": _nonzero_cost,
}
