"""Expansion of complex expressions to real arithmetic, the only kind in kernels.

Afterwards complex numbers are only loaded, split (``real``, ``imag``), combined
(``complex``) and stored; a number that is only moved stays whole. A complex number of
the call, ``sym("alpha")``, becomes two real ones, ``alpha.real`` and ``alpha.imag``.
Called by the lowering of pointwise ops and by passes/complex_loops.py. Read next:
complex_functions.py.
"""

from __future__ import annotations

from pellucid_compiler.ir.complex_functions import FORMS, QUESTIONS, Parts
from pellucid_compiler.ir.dtypes import is_complex, real_dtype
from pellucid_compiler.ir.expr import (
    LOADS,
    Expr,
    cast,
    checked,
    const,
    intern_expr,
    make,
    rebuild,
    select,
    sym,
)

REAL, IMAGINARY = "real", "imag"


def part_name(number: str, part: str) -> str:
    """The symbol of the real or imaginary part of a complex number of the call."""
    return f"{number}.{part}"


def is_part(name: str) -> bool:
    return name.endswith((f".{REAL}", f".{IMAGINARY}"))


class ComplexParts:
    """Expands expressions, sharing common subexpressions."""

    def __init__(self) -> None:
        self._whole: dict[Expr, Expr] = {}
        self._parts: dict[Expr, Parts] = {}

    def expand(self, e: Expr) -> Expr:
        """``e`` in real arithmetic; hand partials, which values do not need, are
        removed.
        """
        if e not in self._whole:
            self._whole[e] = self._expand(e)
        return self._whole[e]

    def parts(self, e: Expr) -> Parts:
        """The real and imaginary part of a complex expression."""
        if e not in self._parts:
            self._parts[e] = self._split(e)
        return self._parts[e]

    def _expand(self, e: Expr) -> Expr:
        if e.op == "with_partials":
            return self.expand(e.args[0])
        if e.op in LOADS:
            args = tuple(self.expand(a) for a in e.args)
            return intern_expr(e.op, args, e.attr, e.dtype)
        if e.op == "checked":
            value, condition = map(self.expand, e.args)
            return checked(value, condition, e.attr)
        if e.op == "select" and is_complex(e.dtype):
            return select(*map(self.expand, e.args))
        if is_complex(e.dtype):
            return e if e.op == "const" else make("complex", *self.parts(e))
        if any(is_complex(a.dtype) for a in e.args):
            return self._question(e)
        return rebuild(e, tuple(self.expand(a) for a in e.args)) if e.args else e

    def _question(self, e: Expr) -> Expr:
        operands = [self.parts(a) for a in e.args]
        if e.op == "cast":
            (z,) = operands
            return (z.real != 0) | (z.imag != 0)
        if e.op not in QUESTIONS:
            raise _undefined(e)
        return QUESTIONS[e.op](*operands)

    def _split(self, e: Expr) -> Parts:
        part = real_dtype(e.dtype)
        if e.op == "const":
            return Parts(const(e.attr.real, part), const(e.attr.imag, part))
        if e.op == "sym":
            return Parts(*(sym(part_name(e.attr, p), part) for p in (REAL, IMAGINARY)))
        if e.op == "with_partials":
            return self.parts(e.args[0])
        if e.op == "checked":
            value, condition = self.parts(e.args[0]), self.expand(e.args[1])
            return Parts(checked(value.real, condition, e.attr), value.imag)
        if e.op in LOADS:
            whole = self.expand(e)
            return Parts(make("real", whole), make("imag", whole))
        if e.op == "complex":
            return Parts(*map(self.expand, e.args))
        if e.op == "select":
            condition = self.expand(e.args[0])
            first, second = (self.parts(a) for a in e.args[1:])
            return Parts(
                select(condition, first.real, second.real),
                select(condition, first.imag, second.imag),
            )
        if e.op == "cast":
            return self._converted(e.args[0], part)
        if e.op not in FORMS:
            raise _undefined(e)
        return FORMS[e.op](*(self.parts(a) for a in e.args))

    def _converted(self, source: Expr, part: str) -> Parts:
        if is_complex(source.dtype):
            return Parts(*(cast(x, part) for x in self.parts(source)))
        return Parts(cast(self.expand(source), part), const(0, part))


def _undefined(e: Expr) -> NotImplementedError:
    return NotImplementedError(
        f"{e.op} is not defined for complex numbers: take abs(), real or imag first"
    )
