"""What all loops of a nest share: its operands' shapes and strides, the levels of its
expressions, and the axis that is vectorised.

Made by ``nest.py``; read by ``loop_level.py`` and ``nest_stores.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

from pellucid_compiler.codegen.builder import Value
from pellucid_compiler.codegen.kernel import Nest
from pellucid_compiler.codegen.schedules.access import Entry
from pellucid_compiler.codegen.schedules.indices import Access, Lanes, Levels
from pellucid_compiler.codegen.schedules.nest_form import (
    COMBINING_OPS,
    bare_store,
    bounded_loops,
    payload_at_start,
)
from pellucid_compiler.ir.expr import Expr, const, load_fill
from pellucid_compiler.ir.traversal import walk


class NestContext:
    """One kernel: its operands, what its stores compute, and how it is vectorised."""

    def __init__(
        self, entry: Entry, form: Nest, order: Sequence[int], checked: bool
    ) -> None:
        kernel = entry.kernel
        self.entry, self.order = entry, order
        self.function, self.kernel, self.form = entry.function, kernel, form
        self.stores = [bare_store(s, kernel.outputs[0]) for s in form.stores]
        self.bounds: dict[int, Expr] = {}
        if form.combine in COMBINING_OPS and len(self.stores) == 1:
            self.bounds, self.stores = bounded_loops(self.stores[0], form)
        roots = [e for s in self.stores for e in (*s.index, s.value)]
        roots += self.bounds.values()
        self.payload, self.first_payload = None, None
        if form.stores[0].payload is not None:
            self.payload = form.stores[0].payload
            self.first_payload = payload_at_start(self.payload, self.stores[0].index)
            roots += [self.payload, self.first_payload]
        padded = {e.attr for e in walk(*roots) if load_fill(e) is not None}
        known = () if checked else form.proved
        self.proved = {(k, dim) for k, dim in known if k not in padded}
        places = [(k, s.index) for s in self.stores for k in self.outputs]
        self.levels = Levels(form.rank, roots, places)
        self.pointers = self.entry.pointers()
        self.in_range: set[tuple[int, tuple[Expr, ...], int]] = set()
        last = max((self.levels.level(e) for e in self.stores[0].index), default=0)
        sums = form.combine != "assign" and len(self.stores) == 1
        self.accumulates = sums and not self.stores[0].drop and last < form.rank
        self.store_level = last
        self._read_layout()
        self.vectorise(None)
        self.dummy = self.function.stack(64 * 8)

    def _read_layout(self) -> None:
        """Extents, then shapes and strides by load number; those of outputs are
        last.
        """
        f, entry, form = self.function, self.entry, self.form
        first = 1 + (self.order[0] if self.order else 0)
        self.begin, self.end = entry.size(0), entry.size(first)
        self.extents = [entry.size(1 + axis) for axis in self.order[1:]]
        shapes, strides = [], []
        size, stride = 1 + max(form.rank, 1), 0
        for rank in form.operand_ranks:
            shapes.append([entry.size(size + d) for d in range(rank)])
            strides.append([entry.stride(stride + d) for d in range(rank)])
            size, stride = size + rank, stride + rank
        outputs = len(self.kernel.outputs)
        self.shapes = shapes[outputs:] + shapes[:outputs]
        self.strides = strides[outputs:] + strides[:outputs]
        begins = self.payload is not None or form.begins
        outer = self.store_level if begins else form.rank
        for extent in self.extents[: max(outer - 1, 0)]:
            empty = extent <= 0
            f.return_if(empty, lambda: f.integer(0))

    def vectorise(self, chosen: Lanes | None) -> None:
        """Choose the lanes of the loops that are written next; None: points."""
        self.lanes = chosen
        self.values = chosen.values if chosen else frozenset()
        self.steps, self.element_steps = self._lane_steps(chosen)

    def _lane_steps(
        self, chosen: Lanes | None
    ) -> tuple[dict[Access, Value], dict[Expr, Value]]:
        """The steps from lane to lane: in bytes per access, and of indices."""
        f, uniform = self.function, self.entry.uniform()
        by_access: dict[Access, Value] = {}
        by_step: dict[Expr, Value] = {}
        for access, steps in chosen.steps.items() if chosen else ():
            if steps is None:
                continue
            num_bytes = f.integer(0)
            for dimension, e in enumerate(steps):
                by_step[e] = step = uniform.value(e)
                num_bytes = num_bytes + step * self.strides[access[0]][dimension]
            by_access[access] = num_bytes
        return by_access, by_step

    def lane_steps(
        self, operand: int, index: tuple[Expr, ...]
    ) -> Sequence[Expr] | None:
        """The step of each dimension's index from lane to lane; None if it is not
        constant.
        """
        assert self.lanes is not None
        if operand in self.outputs:
            return [const(1, "int64")] * len(index)
        return self.lanes.steps[operand, index]

    def checks(self, operand: int) -> bool:
        """Whether indices of the operand must be checked."""
        shape = self.shapes[operand]
        return any((operand, dim) not in self.proved for dim in range(len(shape)))

    @property
    def outputs(self) -> range:
        """The outputs' numbers among shapes, strides and pointers."""
        return range(len(self.kernel.inputs), len(self.entry.dtypes))

    @property
    def output(self) -> int:
        """The number of the output that the stores write."""
        return self.outputs[0]

    @property
    def gives_best(self) -> bool:
        """Whether a second output receives the values that the payloads belong to."""
        return len(self.outputs) > 1

    @property
    def axis(self) -> int | None:
        """The vectorised axis."""
        return None if self.lanes is None else self.lanes.axis
