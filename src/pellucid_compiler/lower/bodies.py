"""Loop bodies in the form that kernels take.

A kernel body refers to operands (``load(k, ())`` or, in a nest, ``load(k, index)``) and
parameters ``sym("p0")``. Loop-invariant expressions are computed once per call in
registers and become parameters, so that one kernel serves every size and number. Called
by loops.py and rows.py. Read next: loops.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pellucid_compiler.abi.plan import Message, Register
from pellucid_compiler.ir.affine import Bounds
from pellucid_compiler.ir.dtypes import arithmetic_dtype, is_real_float, is_weak
from pellucid_compiler.ir.expr import LOADS, Check, Expr, const, intern_expr, load, sym
from pellucid_compiler.ir.graph import Value
from pellucid_compiler.ir.traversal import is_uniform, without_partials
from pellucid_compiler.lower.affine import Affine, affine_map
from pellucid_compiler.lower.registers import (
    LoweringError,
    RegisterBuilder,
    fits_registers,
)

Address = tuple[Value, tuple[Affine, ...]]


class NotAffine(Exception):
    """A body that the affine forms cannot run; the general nest can."""


class Parameters:
    """The number parameters of one kernel, with their dtypes and registers, and its
    checks.
    """

    def __init__(self, registers: RegisterBuilder) -> None:
        self.registers = registers
        self._slots: dict[Expr, Expr] = {}
        self._checks: dict[Check, int] = {}

    def number_of(self, check: Check) -> int:
        """The number with which the kernel reports that the check failed."""
        return self._checks.setdefault(check, len(self._checks))

    @property
    def messages(self) -> tuple[Message, ...]:
        """The error for each such number."""
        return tuple(Message(c.error.__name__, (c.message,)) for c in self._checks)

    def slot(self, e: Expr) -> Expr:
        """The parameter with the value of the uniform expression ``e``."""
        if e not in self._slots:
            number = len(self._slots)
            self._slots[e] = sym(f"p{number}", parameter_dtype(e.dtype))
        return self._slots[e]

    @property
    def dtypes(self) -> tuple[str, ...]:
        return tuple(parameter_dtype(e.dtype) for e in self._slots)

    def resolve(self) -> tuple[Register, ...]:
        """The registers, once the body is complete."""
        return tuple(self.registers.of(e) for e in self._slots)


def parameter_dtype(dtype: str) -> str:
    if dtype == "bool":
        return dtype
    return "float64" if is_real_float(dtype) else "int64"


def strong(e: Expr) -> Expr:
    """``e`` with weak numbers in the dtype in which they are computed.

    A weak ``select`` that is converted at once becomes a select of converted numbers,
    so that a float32 kernel does not compute in float64 because of two constants.
    """
    memo: dict[Expr, Expr] = {}

    def convert(node: Expr) -> Expr:
        if node not in memo:
            memo[node] = _strong_node(node, convert)
        return memo[node]

    return convert(e)


def _strong_node(node: Expr, convert: Callable[[Expr], Expr]) -> Expr:
    if node.op == "const":
        return (
            const(node.attr, arithmetic_dtype(node.dtype))
            if is_weak(node.dtype)
            else node
        )
    if node.op == "cast" and is_weak(node.args[0].dtype):
        source = node.args[0]
        if source.op == "const":
            return const(source.attr, node.dtype)
        if source.op == "select":
            condition, first, second = source.args
            branches = (
                convert(intern_expr("cast", (branch,), None, node.dtype))
                for branch in (first, second)
            )
            return intern_expr(
                "select", (convert(condition), *branches), None, node.dtype
            )
    args = tuple(convert(a) for a in node.args)
    dtype = arithmetic_dtype(node.dtype) if is_weak(node.dtype) else node.dtype
    if node.op == "cast" and args[0].dtype == dtype:
        return args[0]
    return intern_expr(node.op, args, node.attr, dtype)


class BodyConverter:
    """Rewrites the bodies of one kernel; ``convert`` may be called several times.

    ``replace`` returns the new form of a load; its flag says that a ``select`` guards
    it. Loop indices as values (``axes``) are for kernels that support them.
    """

    def __init__(
        self,
        parameters: Parameters,
        replace: Callable[[Expr, bool], Expr],
        axes: bool = False,
    ) -> None:
        self.parameters = parameters
        self.replace = replace
        self.axes = axes
        self._memo: dict[tuple[Expr, bool], Expr] = {}

    def convert(self, body: Expr) -> Expr:
        return strong(self._convert(without_partials(body), guarded=False))

    def _convert(self, e: Expr, guarded: bool) -> Expr:
        key = (e, guarded)
        if key not in self._memo:
            self._memo[key] = self._rewrite(e, guarded)
        return self._memo[key]

    def _rewrite(self, e: Expr, guarded: bool) -> Expr:
        if e.op == "const":
            return e
        if e.op in LOADS:
            return self.replace(e, guarded)
        if e.op == "axis":
            if not self.axes:
                raise NotAffine("the body reads a loop index")
            return e
        if is_uniform(e) and fits_registers(e):
            return self.parameters.slot(e)
        if e.op == "sym":
            raise LoweringError(f"{e} of {e.dtype} cannot be passed to a kernel")
        attr = e.attr
        if e.op == "checked":
            attr = self.parameters.number_of(attr)
        if e.op == "select":
            condition = self._convert(e.args[0], guarded)
            branches = (self._convert(a, True) for a in e.args[1:])
            args = (condition, *branches)
        else:
            args = tuple(self._convert(a, guarded) for a in e.args)
        return intern_expr(e.op, args, attr, e.dtype)


class AffineOperands:
    """The operands of an affine nest: one per distinct (value, index maps).

    ``new_axis`` renumbers the loop's axes into the nest's order.
    """

    def __init__(
        self, values: Sequence[Value], extents: Sequence[Expr], new_axis: dict[int, int]
    ) -> None:
        self.values, self.new_axis = values, new_axis
        self.bounds = Bounds(extents)
        self.addresses: dict[Address, int] = {}

    def replace(self, e: Expr, guarded: bool) -> Expr:
        """A load as ``load(k, ())``; NotAffine if it needs checks or a gather."""
        if e.op != "load":
            raise NotAffine(f"{e} is padded")
        address = self.address(e, guarded)
        number = self.addresses.setdefault(address, len(self.addresses))
        return load(number, (), e.dtype)

    def address(self, e: Expr, guarded: bool) -> Address:
        value = self.values[e.attr]
        maps = []
        for index, size in zip(e.args, value.shape, strict=True):
            found = affine_map(index)
            if found is None or not fits_registers(found.offset):
                raise NotAffine(f"{e} is a gather")
            if guarded and not self.bounds.is_inside(index, size):
                raise NotAffine(f"{e} is only valid where its condition holds")
            maps.append(found.renumbered(self.new_axis))
        return value, tuple(maps)
