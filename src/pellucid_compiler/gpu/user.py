"""Kernels that users write: a Python function of one thread, compiled by its source.

A subset of Python over the words of ``builder.py``: numbers, arrays that are indexed
by one number, ``if``, ``for ... in range(...)``, and the functions of ``WORDS``. A
variable has the type of its first value, and no value is narrowed to it. Literals and
Python floats are *weak*: they take the dtype of the other operand, and a variable that
begins with a weak float is float32, or float64 if it is given one later. Public through
``pellucid.devices.gpu``.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, NamedTuple, NoReturn

from pellucid_compiler.codegen.builder import DOUBLE, Value
from pellucid_compiler.codegen.formats import (
    constant,
    convert,
    from_memory,
    memory_type,
    register_type,
    to_memory,
)
from pellucid_compiler.codegen.lowerings import LOWERINGS
from pellucid_compiler.gpu.builder import GpuFunction, GpuModule, NvptxFunction

_RANKS = ("bool", "int32", "int64", "float32", "float64")
_MATH = (
    "exp",
    "log",
    "sqrt",
    "rsqrt",
    "sin",
    "cos",
    "tanh",
    "abs",
    "maximum",
    "minimum",
)
_BINARY = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div",
    ast.FloorDiv: "floordiv", ast.Mod: "mod",
}  # fmt: skip
_RELATIONS = {
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq",
    ast.NotEq: "ne",
}  # fmt: skip
_FLIPPED = {"gt": "lt", "ge": "le"}


class KernelError(Exception):
    """What a kernel's source must not say, with the line."""


class _NeedsDouble(Exception):
    """A variable that began with a weak float is given a float64."""


class Number(NamedTuple):
    """A value of one thread. A weak one is int64 or float64 until it meets another."""

    value: Value
    dtype: str
    is_weak: bool = False


class Array(NamedTuple):
    """Elements behind a pointer, of the grid or of a block."""

    pointer: Value
    dtype: str
    is_shared: bool


Variables = dict[str, Number | Array]


def compile_kernel(
    function: Callable[..., None],
    dtypes: Mapping[str, str | None],
    threads: int,
    printer: type[GpuFunction] = NvptxFunction,
) -> GpuModule:
    """The module of a kernel. ``dtypes``: by parameter, that of an array's elements;
    "int64" and "float64" without a ``*`` are numbers, ``"*float32"`` are arrays."""
    arrays = [name for name, dtype in dtypes.items() if str(dtype).startswith("*")]
    numbers = [name for name in dtypes if name not in arrays]
    doubles: set[str] = set()
    while True:
        module = GpuModule(printer)
        f, named = module.entry(arrays, numbers)
        try:
            _Compiler(function, f, threads, doubles).run(named, dtypes)
        except _NeedsDouble as found:
            doubles.add(str(found))
            continue
        f.ret()
        return module


def _rank(dtype: str) -> tuple[int, int]:
    """The order of dtypes in which an assignment must not go down."""
    kind = 2 if "float" in dtype else int(dtype != "bool")
    return kind, memory_type(dtype).element_bytes


class _Compiler:
    def __init__(
        self,
        function: Callable[..., None],
        f: GpuFunction,
        threads: int,
        doubles: Set[str],
    ) -> None:
        self.function, self.f, self.threads = function, f, threads
        try:
            lines, self.first_line = inspect.getsourcelines(function)
        except OSError:
            raise KernelError(
                f"{function.__name__}: a kernel is compiled from its source, which is "
                "in no file or notebook"
            ) from None
        tree = ast.parse(textwrap.dedent("".join(lines))).body[0]
        assert isinstance(tree, ast.FunctionDef)
        self.tree = tree
        self.names = {
            **function.__globals__,
            **inspect.getclosurevars(function).nonlocals,
        }
        self.variables: Variables = {}
        self.stored = _stored(tree.body)
        # Variables that begin with a weak float: those met, and those to be float64.
        self.open: set[str] = set()
        self.doubles = doubles

    def refuse(self, node: ast.AST, why: str) -> NoReturn:
        line = self.first_line + getattr(node, "lineno", 1) - 1
        shown = ast.unparse(node).splitlines()[0]
        raise KernelError(f"{self.function.__name__}, line {line}: {why}\n    {shown}")

    def run(self, named: Mapping[str, Value], dtypes: Mapping[str, str | None]) -> None:
        f = self.f
        for name, dtype in dtypes.items():
            value, kind = named[name], str(dtype)
            if kind.startswith("*"):
                self.variables[name] = Array(value, kind[1:], False)
            elif kind == "float64":
                number = Number(f.bitcast(value, DOUBLE), kind, is_weak=True)
                is_variable = name in self.stored
                self.variables[name] = (
                    self.first_value(name, number) if is_variable else number
                )
            else:
                self.variables[name] = Number(value, "int64")
        self.block(self.tree.body)

    # -------------------------------------------------------------- statements

    def block(self, body: Sequence[ast.stmt]) -> None:
        for node in body:
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                self.assign_all(node.targets[0], node.value)
            elif isinstance(node, ast.AugAssign):
                old = ast.BinOp(_as_load(node.target), node.op, node.value)
                self.assign(node.target, self.value(ast.copy_location(old, node)))
            elif isinstance(node, ast.For):
                self.loop(node)
            elif isinstance(node, ast.If):
                self.branch(node)
            elif isinstance(node, ast.Expr):
                if not isinstance(node.value, ast.Constant):  # a docstring
                    self.call(node.value)
            elif not isinstance(node, ast.Pass):
                self.refuse(node, "this statement is not part of the kernel language")

    def assign_all(self, target: ast.expr, value: ast.expr) -> None:
        """One assignment, or several as in ``a, b = 0.0, x[i]``."""
        if not isinstance(target, ast.Tuple):
            return self.assign(target, self.operand(value))
        if not isinstance(value, ast.Tuple) or len(value.elts) != len(target.elts):
            self.refuse(target, "several names need as many values")
        found = [self.operand(each) for each in value.elts]
        for one, each in zip(target.elts, found, strict=True):
            self.assign(one, each)
        return None

    def assign(self, target: ast.expr, value: Number | Array) -> None:
        if isinstance(target, ast.Name):
            known = self.variables.get(target.id)
            if isinstance(value, Number):
                value = (
                    self.next_value(target, value, known)
                    if isinstance(known, Number)
                    else self.first_value(target.id, value)
                )
            self.variables[target.id] = value
        elif isinstance(target, ast.Subscript) and isinstance(value, Number):
            array, place = self.element(target)
            raw = to_memory(self.f, self.cast(value, array.dtype).value, array.dtype)
            if array.is_shared:
                self.f.write_shared(raw, place)
            else:
                self.f.touch(place, raw.type.element_bytes, "write_global")
                self.f.store(raw, place)
        else:
            self.refuse(target, "a name or an element can be assigned to")

    def first_value(self, name: str, value: Number) -> Number:
        """A number as the first value of a variable."""
        if not value.is_weak:
            return value
        if value.dtype == "int64":
            return value._replace(is_weak=False)
        self.open.add(name)
        return self.cast(value, "float64" if name in self.doubles else "float32")

    def next_value(self, target: ast.Name, value: Number, known: Number) -> Number:
        """A number as another value of a variable; KernelError if it is wider."""
        given, held = _rank(value.dtype), _rank(known.dtype)
        if given > held and not (value.is_weak and given[0] == held[0]):
            is_open = target.id in self.open and target.id not in self.doubles
            if is_open and given[0] == held[0]:
                raise _NeedsDouble(target.id)
            first = "0.0" if given[0] == 2 else "0"
            self.refuse(
                target,
                f"{target.id} is {known.dtype} since its first value and would narrow "
                f"{value.dtype}: begin with {first}, or with an element of that dtype",
            )
        return self.cast(value, known.dtype)

    def written(self, body: Sequence[ast.AST]) -> list[str]:
        """The numbers that statements may change."""
        names = _stored(body)
        return [n for n in names if isinstance(self.variables.get(n), Number)]

    def within(
        self, body: Sequence[ast.stmt], names: Sequence[str], entered: Variables
    ) -> list[Value]:
        """Runs a body on its own variables; the values of ``names`` at its end."""
        before, self.variables = self.variables, {**self.variables, **entered}
        self.block(body)
        found = [self.variables[name] for name in names]
        self.variables = before
        return [item.value for item in found if isinstance(item, Number)]

    def changed(self, names: Sequence[str], values: Sequence[Value]) -> Variables:
        dtypes = [self.variables[name].dtype for name in names]
        pairs = zip(names, values, dtypes, strict=True)
        return {name: Number(value, dtype) for name, value, dtype in pairs}

    def loop(self, node: ast.For) -> None:
        call = node.iter
        is_range = (
            isinstance(call, ast.Call) and getattr(call.func, "id", "") == "range"
        )
        if not is_range or not isinstance(node.target, ast.Name) or node.orelse:
            self.refuse(node, "a loop is: for name in range(start, stop, step)")
        assert isinstance(call, ast.Call)
        assert isinstance(node.target, ast.Name)
        index, names = node.target.id, self.written([node.target, *node.body])
        held = self.variables.get(index)
        is_number = isinstance(held, Number) and held.dtype == "int64"
        if held is not None and not is_number:
            self.refuse(
                node, f"{index} is a loop's index, which must be an int64 before"
            )
        given = [self.cast(self.value(a), "int64").value for a in call.args]
        start, stop, step = _range_of(given, self.f)
        carried = [self.variables[name].value for name in names]  # type: ignore[union-attr]

        def body(at: Value, values: list[Value]) -> list[Value]:
            entered = self.changed(names, values)
            return self.within(
                node.body, names, {**entered, index: Number(at, "int64")}
            )

        found = self.f.loop(start, stop, step, carried, body)
        self.variables |= self.changed(names, found)

    def branch(self, node: ast.If) -> None:
        names = self.written([*node.body, *node.orelse])
        found = self.f.branch(
            self.cast(self.value(node.test), "bool").value,
            lambda: self.within(node.body, names, {}),
            lambda: self.within(node.orelse, names, {}),
        )
        self.variables |= self.changed(names, found)

    # -------------------------------------------------------------- expressions

    def operand(self, node: ast.expr) -> Number | Array:
        if isinstance(node, ast.Call):
            found = self.call(node)
            if found is None:
                self.refuse(node, "this call has no value")
            return found
        return self.value(node)

    def value(self, node: ast.expr) -> Number:
        """A number; KernelError for an array or what is not an expression here."""
        f = self.f
        if isinstance(node, ast.Constant):
            return self.literal(node, node.value)
        if isinstance(node, ast.Name):
            return self.name(node)
        if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            pair = self.value(node.left), self.value(node.right)
            is_weak = all(number.is_weak for number in pair)
            left, right = self.unified(*pair)
            op = _BINARY[type(node.op)]
            if op == "div" and "float" not in left.dtype:
                dtype = "float64" if is_weak else "float32"
                left, right = self.cast(left, dtype), self.cast(right, dtype)
            made = LOWERINGS[op](f, left.dtype, left.value, right.value)
            return Number(made, left.dtype, is_weak and left.dtype == "float64")
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            number = self.value(node.operand)
            return number._replace(value=f.neg(number.value))
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return self.compared(node)
        if isinstance(node, ast.BoolOp):
            return Number(self.short_circuit(node.op, node.values), "bool")
        if isinstance(node, ast.Subscript):
            return self.load(node)
        found = self.call(node)
        if isinstance(found, Number):
            return found
        self.refuse(node, "a number is expected")

    def short_circuit(self, op: ast.boolop, nodes: Sequence[ast.expr]) -> Value:
        """``and`` or ``or``: what follows the deciding operand is not evaluated."""
        first, *rest = nodes
        value = self.cast(self.value(first), "bool").value
        if not rest:
            return value
        bodies = lambda: [self.short_circuit(op, rest)], lambda: [value]
        yes, no = bodies if isinstance(op, ast.And) else bodies[::-1]
        return self.f.branch(value, yes, no)[0]

    def literal(self, node: ast.AST, value: Any) -> Number:
        dtype = {bool: "bool", int: "int64", float: "float64"}.get(type(value))
        if dtype is None:
            self.refuse(node, "a constant is a bool, an int or a float")
        is_weak = dtype == "float64" or (dtype == "int64" and abs(value) < 1 << 31)
        return Number(constant(self.f, value, dtype, 1), dtype, is_weak)

    def name(self, node: ast.Name) -> Number:
        found = self.variables.get(node.id)
        if isinstance(found, Number):
            return found
        if found is None and node.id in self.stored:
            self.refuse(node, f"{node.id} has no value here on some path")
        if found is None and node.id in self.names:
            return self.literal(node, self.names[node.id])
        self.refuse(node, "an array must be indexed" if found else "an unknown name")

    def compared(self, node: ast.Compare) -> Number:
        relation = _RELATIONS.get(type(node.ops[0]))
        if relation is None:
            self.refuse(node, "an unknown comparison")
        pair = self.unified(self.value(node.left), self.value(node.comparators[0]))
        left, right = pair[::-1] if relation in _FLIPPED else pair
        op = _FLIPPED.get(relation, relation)
        return Number(
            LOWERINGS[op](self.f, left.dtype, left.value, right.value), "bool"
        )

    def unified(self, left: Number, right: Number) -> tuple[Number, Number]:
        if left.is_weak == right.is_weak:
            dtype = max(left.dtype, right.dtype, key=_RANKS.index)
        else:
            weak, other = (left, right) if left.is_weak else (right, left)
            is_wider_kind = _rank(weak.dtype)[0] > _rank(other.dtype)[0]
            default = "float32" if weak.dtype == "float64" else weak.dtype
            dtype = default if is_wider_kind else other.dtype
        return self.cast(left, dtype), self.cast(right, dtype)

    def cast(self, number: Number, dtype: str) -> Number:
        value = convert(self.f, number.value, number.dtype, dtype)
        return Number(value, dtype)

    def element(self, node: ast.Subscript) -> tuple[Array, Value]:
        """The array, and the address of an element."""
        array = (
            self.variables.get(node.value.id)
            if isinstance(node.value, ast.Name)
            else None
        )
        if not isinstance(array, Array):
            self.refuse(node, "only arrays can be indexed")
        index = self.cast(self.value(node.slice), "int64").value
        width = memory_type(array.dtype).element_bytes
        return array, self.f.offset(array.pointer, index * width)

    def load(self, node: ast.Subscript) -> Number:
        f = self.f
        array, place = self.element(node)
        raw = memory_type(array.dtype)
        if array.is_shared:
            found = f.read_shared(place, raw)
        else:
            f.touch(place, raw.element_bytes, "read_global")
            found = f.load(place, raw)
        return Number(from_memory(f, found, array.dtype), array.dtype)

    # -------------------------------------------------------------------- calls

    def call(self, node: ast.expr) -> Number | Array | None:
        if not isinstance(node, ast.Call) or node.keywords:
            self.refuse(node, "this is not part of the kernel language")
        word = getattr(self.resolve(node.func), "_gpu_word", None)
        if word in _MATH:
            return self.math(word, [self.value(a) for a in node.args])
        if word in WORDS:
            return WORDS[word](self, *node.args)
        self.refuse(node, "only functions of pellucid.devices.gpu can be called")

    def resolve(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            return self.names.get(node.id)
        if isinstance(node, ast.Attribute):
            return getattr(self.resolve(node.value), node.attr, None)
        return None

    def math(self, word: str, numbers: list[Number]) -> Number:
        is_weak = all(number.is_weak for number in numbers)
        if len(numbers) == 2:
            numbers = list(self.unified(*numbers))
        elif numbers[0].dtype == "int64" and word != "abs":
            numbers = [self.cast(numbers[0], "float32")]
        dtype = numbers[0].dtype
        made = LOWERINGS[word](self.f, dtype, *(n.value for n in numbers))
        return Number(made, dtype, is_weak and dtype == "float64")

    def shared(self, dtype: ast.expr, size: ast.expr) -> Array:
        """Memory of the block: a dtype, and a number of elements that is known."""
        kind, count = self.resolve(dtype), getattr(size, "value", None)
        if count is None:
            count = self.resolve(size)
        name = str(kind).removeprefix("torch.").removeprefix("pellucid.")
        if name not in _RANKS or not isinstance(count, int):
            self.refuse(size, "shared memory needs a dtype and a constant size")
        width = memory_type(name).element_bytes
        return Array(self.f.shared(count * width), name, True)

    def shuffle(self, value: ast.expr, mask: ast.expr) -> Number:
        lanes = mask.value if isinstance(mask, ast.Constant) else None
        if not isinstance(lanes, int):
            self.refuse(mask, "the lanes' distance is a constant int")
        number = self.value(value)
        return Number(self.f.shuffle_xor(number.value, lanes), number.dtype)

    def atomic_add(self, array: ast.expr, index: ast.expr, value: ast.expr) -> None:
        place = ast.copy_location(ast.Subscript(array, index, ast.Load()), array)
        found, address = self.element(place)
        if found.is_shared or register_type(found.dtype) != memory_type(found.dtype):
            self.refuse(array, "atomic_add is for arrays of 32 or 64 bits of the grid")
        self.f.atomic_add(address, self.cast(self.value(value), found.dtype).value)


def _range_of(given: list[Value], f: GpuFunction) -> tuple[Value, Value, Value]:
    if len(given) == 1:
        return f.integer(0), given[0], f.integer(1)
    return given[0], given[1], given[2] if len(given) == 3 else f.integer(1)


def _stored(body: Sequence[ast.AST]) -> dict[str, None]:
    """The names that statements assign to, in their order."""
    nodes = (node for statement in body for node in ast.walk(statement))
    return {
        node.id: None
        for node in nodes
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def _as_load(node: ast.expr) -> ast.expr:
    """The target of ``x += 1`` as what is read."""
    read = ast.parse(ast.unparse(node), mode="eval").body
    return ast.copy_location(read, node)


WORDS: dict[str, Callable[..., Number | Array | None]] = {
    "thread": lambda c: Number(c.f.thread(), "int64"),
    "block": lambda c: Number(c.f.block(), "int64"),
    "blocks": lambda c: Number(c.f.blocks(), "int64"),
    "threads": lambda c: Number(c.f.integer(c.threads), "int64"),
    "barrier": lambda c: c.f.barrier(),
    "shared": _Compiler.shared,
    "shuffle_xor": _Compiler.shuffle,
    "atomic_add": _Compiler.atomic_add,
}
"""The functions of a kernel besides those of numbers."""
