"""Scalar expressions: the one language of op bodies, index maps, sizes and shape rules.

An ``Expr`` is immutable, typed and interned: equal expressions are one object, so
``is`` is equality and a dict keyed by Exprs is a memo. Exprs are built by running
Python functions on Exprs, so ``==`` builds a comparison. Test membership in sets and
dicts, never in lists; compare tuples with ``same_exprs``; dataclasses that contain
Exprs do not compare their fields. ``make`` types a scalar op by its rule in
scalar_ops.py: it converts the operands to one dtype, so that no later pass has to
promote.

Leaves: ``const``, ``sym`` (a size or number known at run time, by name), ``axis`` (the
k-th loop index), ``load`` (an element of an operand; out of bounds is an error) and
``padded_load`` (out of bounds, its last operand). In a loop under construction a load
names a ``Value`` of the Graph; in a finished node it names the operand's position.

Read next: scalar_ops.py (the table of ops), then traversal.py, partials.py, evaluate.py
and show.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Final, NamedTuple, TypeAlias
from weakref import ref

from pellucid_compiler.ir import dtypes
from pellucid_compiler.ir.dtypes import is_complex, is_float, promote, wide_dtype
from pellucid_compiler.ir.fold import fold

Number: TypeAlias = "bool | int | float | complex"
ExprLike: TypeAlias = "Expr | bool | int | float | complex"
PartialsRule: TypeAlias = "Callable[..., Any]"

# What ``below`` says an Expr contains: bits, then one per axis.
LOADED: Final = 1
HAND_PARTIALS: Final = 2
CHECKED: Final = 4
AXES: Final = ~7
FIRST_AXIS: Final = 3


class Expr:
    """One node: an op, its operand Exprs, an attribute (of leaves) and a dtype.

    ``below``: whether it and its operands contain loads, hand partials and checks, and
    which axes, so that passes skip what they would not change. ``depth``: the length of
    the longest chain of operands below it.
    """

    __slots__ = ("__weakref__", "args", "attr", "below", "depth", "dtype", "op")

    op: str
    args: tuple[Expr, ...]
    attr: Any
    dtype: str
    below: int
    depth: int

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        if self.op == "const":
            return bool(self.attr)
        raise TypeError(
            f"a declaration cannot branch on {self}, which is only known at run time.\n"
            "Use where(condition, a, b) for a value, ask(condition) for a condition on "
            "sizes and numbers that may change the graph, or an `int`, `bool` or `str` "
            "argument in the schema, which is known while tracing."
        )

    def __repr__(self) -> str:
        from pellucid_compiler.ir.show import show_expr

        return show_expr(self)

    def __add__(self, other: ExprLike) -> Expr:
        return make("add", self, other)

    def __radd__(self, other: ExprLike) -> Expr:
        return make("add", other, self)

    def __sub__(self, other: ExprLike) -> Expr:
        return make("sub", self, other)

    def __rsub__(self, other: ExprLike) -> Expr:
        return make("sub", other, self)

    def __mul__(self, other: ExprLike) -> Expr:
        return make("mul", self, other)

    def __rmul__(self, other: ExprLike) -> Expr:
        return make("mul", other, self)

    def __truediv__(self, other: ExprLike) -> Expr:
        return make("div", self, other)

    def __rtruediv__(self, other: ExprLike) -> Expr:
        return make("div", other, self)

    def __floordiv__(self, other: ExprLike) -> Expr:
        return make("floordiv", self, other)

    def __rfloordiv__(self, other: ExprLike) -> Expr:
        return make("floordiv", other, self)

    def __mod__(self, other: ExprLike) -> Expr:
        return make("mod", self, other)

    def __rmod__(self, other: ExprLike) -> Expr:
        return make("mod", other, self)

    def __pow__(self, other: ExprLike) -> Expr:
        return make("pow", self, other)

    def __rpow__(self, other: ExprLike) -> Expr:
        return make("pow", other, self)

    def __neg__(self) -> Expr:
        return make("neg", self)

    def __abs__(self) -> Expr:
        return make("abs", self)

    def __lt__(self, other: ExprLike) -> Expr:
        return make("lt", self, other)

    def __le__(self, other: ExprLike) -> Expr:
        return make("le", self, other)

    def __gt__(self, other: ExprLike) -> Expr:
        return make("lt", other, self)

    def __ge__(self, other: ExprLike) -> Expr:
        return make("le", other, self)

    def __eq__(self, other: ExprLike) -> Expr:  # type: ignore[override]
        return make("eq", self, other)

    def __ne__(self, other: ExprLike) -> Expr:  # type: ignore[override]
        return make("ne", self, other)

    def __and__(self, other: ExprLike) -> Expr:
        return make("and", self, other)

    def __rand__(self, other: ExprLike) -> Expr:
        return make("and", other, self)

    def __or__(self, other: ExprLike) -> Expr:
        return make("or", self, other)

    def __ror__(self, other: ExprLike) -> Expr:
        return make("or", other, self)

    def __invert__(self) -> Expr:
        return make("not", self)


class ScalarOp(NamedTuple):
    """The properties of a scalar op that ``ir`` knows; the table is in scalar_ops.py.

    ``result`` says how the dtype follows from the promoted operand dtype: see
    ``RESULT_RULES``. ``evaluate(numpy, *arrays)`` is its definition. ``slopes(*args,
    y)`` returns the partial derivative with respect to each operand as an Expr,
    ``None`` if there is no derivative, or ``FLAT`` if it is zero everywhere;
    ``is_step`` says that it is ``FLAT`` for the only operand. ``is_odd``: the result
    for ``-x`` is that for ``x`` with the other sign, in all bits (``signs.py``).

    ``cost`` is what one operation on floats costs in vector code, in additions; fusion,
    tables of indices and unrolling go by it. ``work`` is the class in which profiles
    count it (``cost.py``), None if they do not. ``domain`` names the dtypes of its
    operands: "all" but complex ones, "floats", "integers" or "complex".

    ``value(*numbers)`` is the definition for Python sizes and numbers, if there is one;
    ``folds`` says which constants it replaces. ``integers`` and ``numbers`` are the
    same in C++, on registers ``a`` and ``b``, if register programs of plans compute it.

    ``emitted(torch, *tensors)`` is the op as functions of whole tensors, as modes see
    it as a step of a derivative, if it is not the function of its name. ``with_number``
    names the overloads that are seen if one operand is a number: as the second and,
    with swapped operands, as the first.

    ``lowering`` names its lowering in ``codegen/lowerings.py``, if not that of the op's
    own name. ``function`` is its name in op bodies, if it is another one; empty if
    Python has an operator or a function for it.
    """

    name: str
    arity: int
    result: str
    evaluate: Callable[..., Any]
    slopes: Callable[..., Any] | None
    cost: int
    work: str | None
    symbol: str | None = None
    domain: str = "all"
    value: Callable[..., Any] | None = None
    folds: str = "none"  # "all", "integers" or "literals": floats without a dtype
    is_step: bool = False
    is_odd: bool = False
    integers: str | None = None
    numbers: str | None = None
    emitted: Callable[..., Any] | None = None
    with_number: tuple[str, ...] = ()
    lowering: str = ""
    function: str = ""


SCALAR_OPS: dict[str, ScalarOp] = {}

# result rule -> (operand dtype, result dtype) from the promoted dtype of the operands
RESULT_RULES: dict[str, Callable[[str], tuple[str, str]]] = {
    "same": lambda d: (d, d),
    "number": lambda d: (d, d) if d != "bool" else ("weakint", "weakint"),
    "float": lambda d: (d, d) if is_float(d) else ("weakfloat", "weakfloat"),
    "compare": lambda d: (d, "bool"),
    "logic": lambda d: ("bool", "bool"),
    "real": lambda d: (d, dtypes.real_dtype(d)),
    "complex": lambda d: _complex_of_parts(d),
}


def _complex_of_parts(dtype: str) -> tuple[str, str]:
    if is_complex(dtype):
        raise TypeError(f"the parts of a complex number are real, not {dtype}")
    part = dtype if is_float(dtype) else "weakfloat"
    return part, dtypes.complex_dtype(part)


class _Interned(ref[Expr]):
    """The table entry of the one Expr with a ``key``. (A WeakValueDictionary is Python
    code, which would take most of the time of building Exprs.)

    Threads build Exprs concurrently, without a lock: an entry is added by
    ``setdefault`` and removed by ``_forget``, each a single step.
    """

    __slots__ = ("key",)
    key: Hashable


_interned: dict[Hashable, _Interned] = {}


def _forget(gone: _Interned, table: dict[Hashable, _Interned] = _interned) -> None:
    """Removes the entry of an Expr that was freed, unless that has been done.

    One step: other threads and signal handlers run only where Python code calls or is
    called, and here nothing is (keys are hashed without Python code).
    """
    try:
        if table[gone.key] is gone:
            del table[gone.key]
    except KeyError:
        pass


def intern_expr(op: str, args: tuple[Expr, ...], attr: Any, dtype: str) -> Expr:
    """The one Expr with these parts; ``make`` also types and folds."""
    key = (op, args, _name_of(attr) if op == "const" else attr, dtype)
    known = _interned.get(key)
    found = None if known is None else known()
    if found is None:
        found = object.__new__(Expr)
        found.op, found.args, found.attr, found.dtype = op, args, attr, dtype
        below, depth = _own_bits(op, attr), 0
        for a in args:
            below |= a.below
            if a.depth >= depth:
                depth = a.depth + 1
        found.below, found.depth = below, depth
        made = _Interned(found, _forget)
        made.key = key
        if _interned.setdefault(key, made) is not made:
            return _the_first(made, found)
    return found


def _the_first(made: _Interned, found: Expr) -> Expr:
    """The Expr that was interned first, by another thread or by a signal handler; else
    ``found``, in place of an Expr that was freed: its callback may be under way in
    another thread or wait below this very call, so the entry is removed here.
    """
    while (first := _interned.setdefault(made.key, made)) is not made:
        other = first()
        if other is not None:
            return other
        _forget(first)
    return found


def _name_of(number: Number) -> Hashable:
    """Equal for the same number of one type: 0.0 and -0.0 differ, NaNs do not."""
    if type(number) is int:
        return number
    return type(number), repr(number)


def _own_bits(op: str, attr: Any) -> int:
    if op == "axis":
        number: int = attr
        return 1 << FIRST_AXIS + number
    if op in LOADS:
        return LOADED
    if op == "checked":
        return CHECKED
    return HAND_PARTIALS if op == "with_partials" else 0


def const(value: Number, dtype: str | None = None) -> Expr:
    """A constant; without a dtype it is weak, like a Python number."""
    if type(value) is int and -_SMALL <= value <= _SMALL:
        return _small_const(value, dtype or "weakint")
    dtype = dtype or dtypes.dtype_of_number(value)
    return intern_expr("const", (), dtypes.python_value(value, dtype), dtype)


_SMALL: Final = 16


@functools.cache
def _small_const(value: int, dtype: str) -> Expr:
    return intern_expr("const", (), dtypes.python_value(value, dtype), dtype)


def sym(name: str, dtype: str = "int64") -> Expr:
    """A size or number bound by name when the Graph runs."""
    return intern_expr("sym", (), name, dtype)


def axis(number: int) -> Expr:
    """The index along the ``number``-th axis of the iteration space."""
    return intern_expr("axis", (), number, "int64")


def load(operand: Any, index: Iterable[ExprLike], dtype: str) -> Expr:
    """Element ``index`` of ``operand``; out of bounds is an error."""
    return intern_expr("load", tuple(as_index(i) for i in index), operand, dtype)


def padded_load(
    operand: Any, index: Iterable[ExprLike], fill: ExprLike, dtype: str
) -> Expr:
    """Element ``index`` of ``operand``, or ``fill`` (its last operand) out of
    bounds.
    """
    place = tuple(as_index(i) for i in index)
    return intern_expr("padded_load", (*place, cast(fill, dtype)), operand, dtype)


def as_expr(value: ExprLike) -> Expr:
    return value if isinstance(value, Expr) else const(value)


def as_index(value: ExprLike) -> Expr:
    index = as_expr(value)
    if index.dtype == "int64":
        return index
    if is_float(index.dtype) or index.dtype == "bool":
        raise TypeError(
            f"an index must be an integer, but {index} has dtype {index.dtype}.\n"
            'Convert it: cast(index, "int64").'
        )
    return cast(index, "int64")


def is_const(e: Expr, value: Number) -> bool:
    """Whether ``e`` is the number ``value`` (True and False are not numbers)."""
    return e.op == "const" and e.dtype != "bool" and bool(e.attr == value)


def same_exprs(first: object, second: object) -> bool:
    """Whether two Exprs, or tuples and named tuples of them, are the same."""
    if isinstance(first, tuple) and isinstance(second, tuple):
        return len(first) == len(second) and all(map(same_exprs, first, second))
    if isinstance(first, Expr) or isinstance(second, Expr):
        return first is second
    return first == second


def make(op: str, *operands: ExprLike) -> Expr:
    """The typed expression of a scalar op, with constants and identities folded."""
    args = tuple([x if isinstance(x, Expr) else const(x) for x in operands])
    operand_dtype, dtype = _typed(op, tuple([a.dtype for a in args]))
    if op in ("real", "imag", "conj") and not is_complex(operand_dtype):
        return args[0] if op != "imag" else const(0, dtype)
    alike = [a if a.dtype == operand_dtype else cast(a, operand_dtype) for a in args]
    return _folded(op, tuple(alike), dtype)


@functools.cache
def _typed(op: str, operands: tuple[str, ...]) -> tuple[str, str]:
    """(the dtype of all operands, the result's) for operands of these dtypes."""
    rule = SCALAR_OPS[op]
    if len(operands) != rule.arity:
        raise TypeError(f"{op} takes {rule.arity} operands, {len(operands)} were given")
    return RESULT_RULES[rule.result](dtypes.promote_all(*operands))


def _folded(op: str, args: tuple[Expr, ...], dtype: str) -> Expr:
    folded = fold(SCALAR_OPS[op], args, dtype)
    if folded is None:
        return intern_expr(op, args, None, dtype)
    return folded if isinstance(folded, Expr) else const(folded, dtype)


def select(condition: ExprLike, first: ExprLike, second: ExprLike) -> Expr:
    """``first`` where ``condition`` else ``second``.

    The untaken side never contributes, whatever its value: its loads do not run.
    """
    cond, a, b = cast(condition, "bool"), as_expr(first), as_expr(second)
    dtype = promote(a.dtype, b.dtype)
    return _chosen(cond, cast(a, dtype), cast(b, dtype), dtype)


def _chosen(condition: Expr, first: Expr, second: Expr, dtype: str) -> Expr:
    """A ``select`` of operands that already have their final dtypes."""
    if condition.op == "const":
        return first if condition.attr else second
    if first is second:
        return first
    return intern_expr("select", (condition, first, second), None, dtype)


def cast(value: ExprLike, dtype: str) -> Expr:
    """``value`` converted to ``dtype``; from complex to real it takes the real part."""
    e = as_expr(value)
    if e.dtype == dtype:
        return e
    if is_complex(e.dtype) and not is_complex(dtype) and dtype != "bool":
        e = make("real", e)
    if e.dtype == dtype:
        return e
    if e.op == "const":
        return const(e.attr, dtype)
    if e.op == "cast" and e.args[0].dtype == dtype and e.dtype == wide_dtype(dtype):
        return e.args[0]  # a half widened and rounded again is unchanged
    if e.op == "select" and (chosen := _chosen_halves(e, dtype)) is not None:
        return chosen
    return intern_expr("cast", (e,), None, dtype)


_DEEPEST_CHOICE = 16


def _chosen_halves(e: Expr, dtype: str, depth: int = 0) -> Expr | None:
    """A choice among halves that are widened, and values that read no operand, as a
    choice among halves; None if there are other values.
    """
    if e.op == "cast" and e.args[0].dtype == dtype and e.dtype == wide_dtype(dtype):
        return e.args[0]
    if e.op != "select":
        return None if is_loaded(e) else cast(e, dtype)
    if e.dtype != wide_dtype(dtype) or depth == _DEEPEST_CHOICE:
        return None
    first = _chosen_halves(e.args[1], dtype, depth + 1)
    second = None if first is None else _chosen_halves(e.args[2], dtype, depth + 1)
    if first is None or second is None:
        return None
    return _chosen(e.args[0], first, second, dtype)


def bitcast(value: Expr, dtype: str) -> Expr:
    """The bits of ``value`` reinterpreted as ``dtype``, which has the same width."""
    if dtypes.ITEMSIZE[value.dtype] != dtypes.ITEMSIZE[dtype]:
        raise TypeError(f"bitcast from {value.dtype} to {dtype}: the widths differ")
    return (
        value if value.dtype == dtype else intern_expr("bitcast", (value,), None, dtype)
    )


def with_partials(
    value: ExprLike, xs: Iterable[ExprLike] = (), rule: PartialsRule | None = None
) -> Expr:
    """``value``, with the derivative ``rule(*xs, y)``: one partial for each of ``xs``.

    The rule runs when the derivative is taken; if it is written in terms of the result
    ``y``, it holds at every order. Without ``xs`` the value has no derivative
    (``detach``).
    """
    e = as_expr(value)
    return intern_expr("with_partials", (e, *map(as_expr, xs)), rule, e.dtype)


class Check(NamedTuple):
    """The error raised if a condition on elements does not hold."""

    error: type[Exception]
    message: str


def checked(value: ExprLike, condition: ExprLike, check: Check | int) -> Expr:
    """``value`` if ``condition`` holds; otherwise ``check`` is raised.

    In the body of a kernel ``check`` is a number; the plan has the messages.
    """
    e = as_expr(value)
    return intern_expr("checked", (e, cast(condition, "bool")), check, e.dtype)


# ------------------------------------------------------------------ operands

LOADS: Final = ("load", "padded_load")
LEAVES: Final = ("axis", "sym", *LOADS)
OPAQUE: Final = (*LOADS, "with_partials", "checked", "bitcast")


def load_index(e: Expr) -> tuple[Expr, ...]:
    return e.args[:-1] if e.op == "padded_load" else e.args


def load_fill(e: Expr) -> Expr | None:
    """The value of a load out of bounds; None for a checked load."""
    return e.args[-1] if e.op == "padded_load" else None


def rebuild(e: Expr, args: tuple[Expr, ...]) -> Expr:
    """``e`` with new operands: typed and folded again."""
    same_dtypes, same = True, True
    for new, old in zip(args, e.args, strict=True):
        if new is not old:
            same = False
            if new.dtype != old.dtype:
                same_dtypes = False
    if same:
        return e
    if e.op == "select":
        condition, first, second = args
        if same_dtypes:
            return _chosen(condition, first, second, e.dtype)
        return select(condition, first, second)
    if e.op == "cast":
        return cast(args[0], e.dtype)
    if e.op in OPAQUE:
        return intern_expr(e.op, args, e.attr, e.dtype)
    return _folded(e.op, args, e.dtype) if same_dtypes else make(e.op, *args)


def is_loaded(*roots: Expr) -> bool:
    """Whether there are loads below ``roots``."""
    return any(root.below & LOADED for root in roots)
