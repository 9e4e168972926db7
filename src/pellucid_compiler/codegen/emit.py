"""Scalar expressions to instructions: one ``Emitter`` per place in a kernel.

The emitter walks an Expr once, sharing common subexpressions. Expressions without loads
and axes are *uniform*: they are computed with one lane, in the emitter that ``outer``
names, which a schedule creates before its loop. The schedule passes a function that
emits loads. Read next: ``lowerings.py``, ``schedules/map.py``.
"""

from __future__ import annotations

from collections.abc import Callable

from pellucid_compiler.codegen import elementary
from pellucid_compiler.codegen.builder import Function, Value
from pellucid_compiler.codegen.formats import constant, convert, register_type
from pellucid_compiler.codegen.lowerings import LOWERINGS
from pellucid_compiler.ir.dtypes import is_real_float
from pellucid_compiler.ir.expr import Expr
from pellucid_compiler.ir.traversal import walk

Leaf = Callable[[Expr], Value]
"""The value of a leaf (load, axis, sym) at this place, in its register type."""

_VARYING = ("load", "padded_load", "axis")


class Emitter:
    """Emits expressions at one place with ``lanes`` lanes."""

    def __init__(
        self,
        function: Function,
        lanes: int,
        leaf: Leaf,
        outer: Emitter | None = None,
    ) -> None:
        self.function = function
        self.lanes = lanes
        self._leaf = leaf
        self._outer = outer
        self._values: dict[Expr, Value] = {}
        self._uniform: dict[Expr, bool] = {}
        self._prepared: set[Expr] = set()

    def is_uniform(self, e: Expr) -> bool:
        """Whether ``e`` is one number for the whole call."""
        known = self._uniform.get(e)
        if known is None:
            known = e.op not in _VARYING and all(map(self.is_uniform, e.args))
            self._uniform[e] = known
        return known

    def prepare(self, e: Expr) -> None:
        """Compute the uniform parts of ``e`` here, for use by inner emitters."""
        if e in self._prepared:
            return
        self._prepared.add(e)
        if self.is_uniform(e):
            self.value(e)
        else:
            for arg in e.args:
                self.prepare(arg)

    def value(self, e: Expr) -> Value:
        """The value of ``e``, in every lane."""
        found = self._values.get(e)
        if found is None:
            found = self._values[e] = self._compute(e)
        return found

    def _compute(self, e: Expr) -> Value:
        f = self.function
        if e.op == "const":
            return constant(f, e.attr, e.dtype, self.lanes)
        if self._outer is not None and self.is_uniform(e):
            return f.splat(self._outer.value(e), self.lanes)
        if e.op in ("sym", *_VARYING):
            return self._leaf(e)
        if e.op == "with_partials":
            return self.value(e.args[0])
        if e.op == "pow" and self._outer is not None and is_real_float(e.dtype):
            base, exponent = e.args
            if self.is_uniform(exponent):
                number = self._outer.value(exponent)
                return elementary.uniform_power(f, self.value(base), number, self.lanes)
        args = [self.value(arg) for arg in e.args]
        if e.op == "select":
            return f.select(*args)
        if e.op == "cast":
            return convert(f, args[0], e.args[0].dtype, e.dtype)
        if e.op == "bitcast":
            return f.bitcast(args[0], register_type(e.dtype, self.lanes))
        return LOWERINGS[e.op](f, e.args[0].dtype, *args)


def varying_nodes(*roots: Expr) -> list[Expr]:
    """The nodes below ``roots`` that differ from point to point."""
    varying: dict[Expr, None] = {}
    for e in walk(*roots):
        if e.op in _VARYING or any(arg in varying for arg in e.args):
            varying[e] = None
    return list(varying)


def parameter_value(f: Function, params: Value, number: int, dtype: str) -> Value:
    """Parameter ``number`` from its 64-bit slot: an int64 or a float64, converted."""
    whole = dtype == "bool" or "int" in dtype
    slot = register_type("int64" if whole else "float64")
    raw = f.load(f.offset(params, 8 * number), slot)
    return convert(f, raw, "int64" if whole else "float64", dtype)
