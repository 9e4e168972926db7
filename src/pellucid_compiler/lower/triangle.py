"""Columns that no row of a block needs: the upper triangle of causal attention.

If a body tests ``column index <= row index``, its value otherwise is often neutral: the
identity of the reduction, or zero. Then the columns beyond a block's last row can be
skipped: products do not compute them, rows end before them, sums do not add their
zeros. ``triangle`` proves that for the steps of a block; blocks.py calls it.

Zero times an excluded term counts as zero, even if the term is an infinity.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from pellucid_compiler.abi.plan import (
    GemmStep,
    GeneralStep,
    LocalValue,
    NestStep,
    Operand,
    Step,
)
from pellucid_compiler.codegen.kernel import Kernel, Map, Nest, RowReduce, Rows
from pellucid_compiler.ir.expr import Expr
from pellucid_compiler.ir.traversal import walk

Members: TypeAlias = Sequence[NestStep | GemmStep]

_IDENTITY: Mapping[str, float] = {"sum": 0.0, "max": -math.inf, "min": math.inf}


def triangle(
    members: Members,
    axes: Sequence[tuple[int, ...]],
    cut: int,
    locals_: Sequence[LocalValue],
    indices: frozenset[int],
    kernels: Mapping[bytes, Kernel],
) -> int:
    """The class of columns that end with the block's last row; -1 without one.

    ``cut`` is the class of the rows that blocks divide, ``axes`` are the members' axes
    as classes; ``indices`` are the values that are 0, 1, 2, ...
    """
    candidates = {
        cls
        for member, own in zip(members, axes, strict=True)
        if isinstance(member, NestStep) and member.form == "rows"
        for cls in own[member.num_stored :]
    }
    for cls in sorted(candidates):
        proof = _Proof(cls, cut, indices, kernels, {v.value for v in locals_})
        if proof.tested(members, axes) and proof.holds(members, axes):
            return cls
    return -1


def index_values(
    steps: Sequence[Step], kernels: Mapping[bytes, Kernel]
) -> frozenset[int]:
    """The values that are 0, 1, 2, ..."""
    found = set()
    for step in steps:
        if not isinstance(step, GeneralStep) or len(step.outputs) != 1:
            continue
        form = kernels[step.kernel.id].form
        if isinstance(form, Nest) and form.rank == 1 and len(form.stores) == 1:
            store = form.stores[0]
            if store.value.op == "axis" and store.index == (store.value,):
                found.add(step.outputs[0])
    return frozenset(found)


class _Proof:
    """What is zero beyond the triangle of one class of columns."""

    def __init__(
        self,
        columns: int,
        rows: int,
        indices: frozenset[int],
        kernels: Mapping[bytes, Kernel],
        local: set[int],
    ) -> None:
        self.columns, self.rows = columns, rows
        self.indices, self.kernels, self.local = indices, kernels, local
        self.zero: set[int] = set()

    def tested(self, members: Members, axes: Sequence[tuple[int, ...]]) -> bool:
        """Whether any member compares the indices of its column and row."""
        return any(
            self.excludes(e, member.inputs, own)
            for member, own in zip(members, axes, strict=True)
            if isinstance(member, NestStep)
            for root in _bodies(self.kernels[member.kernel.id])
            for e in walk(root)
        )

    def holds(self, members: Members, axes: Sequence[tuple[int, ...]]) -> bool:
        return all(
            self._gemm(member, own)
            if isinstance(member, GemmStep)
            else self._nest(member, own)
            for member, own in zip(members, axes, strict=True)
            if self.columns in own
        )

    def _gemm(self, step: GemmStep, axes: tuple[int, ...]) -> bool:
        if axes.count(self.columns) != 1:
            return False
        if axes.index(self.columns) >= sum(step.groups[:3]):
            return any(factor.value in self.zero for factor in step.inputs[:2])
        if len(step.inputs) > 2:
            return step.output.value in self.local
        if any(
            factor.value in self.zero and self.moves(factor, axes)
            for factor in step.inputs
        ):
            self.zero.add(step.output.value)
        return step.output.value in self.local | self.zero

    def _nest(self, step: NestStep, axes: tuple[int, ...]) -> bool:
        form = self.kernels[step.kernel.id].form
        if not isinstance(form, (Rows, Map)) or axes.count(self.columns) != 1:
            return False
        beyond = _Beyond(self, step, axes)
        if isinstance(form, Rows) and axes.index(self.columns) < step.num_stored:
            return False
        results = beyond.results(form)
        if results is None:
            return False
        for output, result in zip(step.outputs, results, strict=True):
            if not self.moves(output, axes):
                continue
            if result == 0:
                self.zero.add(output.value)
            elif output.value not in self.local:
                return False
        return True

    def moves(self, operand: Operand, axes: tuple[int, ...]) -> bool:
        return any(
            axes[axis] == self.columns for dim in operand.dims for axis, _ in dim.terms
        )

    def excludes(
        self, e: Expr, inputs: Sequence[Operand], axes: tuple[int, ...]
    ) -> bool:
        """Whether ``e`` is ``column index <= row index``: false beyond the triangle."""
        if e.op not in ("le", "lt") or any(a.op != "load" for a in e.args):
            return False
        along = []
        for a in e.args:
            if a.attr >= len(inputs) or inputs[a.attr].value not in self.indices:
                return False
            (dim,) = inputs[a.attr].dims
            if len(dim.terms) != 1 or dim.offset != -1 or dim.terms[0][1] != -1:
                return False
            along.append(axes[dim.terms[0][0]])
        return along == [self.columns, self.rows]


class _Beyond:
    """The values of a member's bodies beyond the triangle; None: any number."""

    def __init__(self, proof: _Proof, step: NestStep, axes: tuple[int, ...]) -> None:
        self.proof, self.step, self.axes = proof, step, axes
        self.own: dict[int, float | None] = {}
        self.memo: dict[Expr, float | None] = {}

    def results(self, form: Rows | Map) -> list[float | None] | None:
        """The value of each output; None if a reduction would miss a term."""
        if isinstance(form, Map):
            return [self.value(e) for e in form.values]
        results: list[float | None] = [None] * len(self.step.outputs)
        for item in form.passes:
            found = self.value(item.value)
            if isinstance(item, RowReduce):
                if found is None or found != _IDENTITY.get(item.combine):
                    return None
            else:
                results[item.output] = found
                self.own[len(self.step.inputs) + item.output] = found
        return results

    def value(self, e: Expr) -> float | None:
        if e not in self.memo:
            self.memo[e] = self._value(e)
        return self.memo[e]

    def _value(self, e: Expr) -> float | None:
        if e.op == "const":
            return float(e.attr) if isinstance(e.attr, (bool, int, float)) else None
        if e.op == "load":
            if e.attr >= len(self.step.inputs):
                return self.own.get(e.attr)
            operand = self.step.inputs[e.attr]
            known = operand.value in self.proof.zero
            return 0.0 if known and self.proof.moves(operand, self.axes) else None
        if self.proof.excludes(e, self.step.inputs, self.axes):
            return 0.0
        if e.op == "select":
            condition = self.value(e.args[0])
            if condition is None:
                first, second = map(self.value, e.args[1:])
                return first if first == second else None
            return self.value(e.args[1] if condition else e.args[2])
        return _computed(e.op, [self.value(a) for a in e.args])


def _computed(op: str, args: Sequence[float | None]) -> float | None:
    """The result of a scalar op if some arguments are known; NaNs do not occur."""
    if op == "cast":
        return args[0]
    if op == "mul" and 0.0 in args:
        return 0.0
    if op == "div" and args[0] == 0.0:
        return 0.0
    if op == "neg" and args[0] is not None:
        return -args[0]
    if op == "exp" and args[0] == -math.inf:
        return 0.0
    if op in ("add", "sub") and args[0] == -math.inf:
        return -math.inf
    if op in ("add", "sub") and args == [0.0, 0.0]:
        return 0.0
    return None


def _bodies(kernel: Kernel) -> list[Expr]:
    if isinstance(kernel.form, Rows):
        return [item.value for item in kernel.form.passes]
    return list(kernel.form.values) if isinstance(kernel.form, Map) else []
