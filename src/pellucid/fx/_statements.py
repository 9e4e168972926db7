"""Generates the statements: one per node; names are deleted after their last use.
Called by ``_codegen.py``.
"""

from __future__ import annotations

import enum
import re
import types
import typing
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pellucid
from pellucid import _C
from pellucid.fx._names import (
    Namespace,
    as_torch,
    custom_builtins,
    is_from_torch,
    qualified_name,
    type_repr,
)
from pellucid.fx._operators import inplace_methods, magic_methods
from pellucid.fx.node import Node

if TYPE_CHECKING:
    from pellucid.fx._codegen import CodeGen

_GENERIC: dict[Any, Any] = {list: typing.List, dict: typing.Dict, set: typing.Set}  # noqa: UP006
_GENERIC |= {frozenset: typing.FrozenSet, tuple: typing.Tuple}  # noqa: UP006
_LINE_OF_TRACE = re.compile(r'^File "(.+)", line (\d+), in (.+)$')
_SHORT_DTYPE = {
    "float32": "f32",
    "float64": "f64",
    "float16": "f16",
    "bfloat16": "bf16",
    "complex64": "c64",
    "complex128": "c128",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "bool": "b8",
    "uint8": "u8",
}


def format_target(base: str, target: str) -> str:
    """``self.block.0.weight`` as an expression."""
    expression = base
    for part in target.split("."):
        if part.isidentifier():
            expression = f"{expression}.{part}"
        else:
            expression = f'getattr({expression}, "{part}")'
    return expression


class Statements:
    """Writes the body of one function."""

    include_stride = include_device = False

    def __init__(
        self, codegen: CodeGen, root: str, namespace: Namespace, verbose: bool
    ) -> None:
        self.codegen, self.root, self.verbose = codegen, root, verbose
        self.namespace = namespace
        self.free_vars: list[str] = []
        self.body: list[str] = []
        self.globals: dict[str, Any] = {}
        self.wrapped_names: dict[str, None] = {}
        self.return_annotation = ""
        self._last_uses: dict[Node, list[Node]] = defaultdict(list)
        self._previous_trace: str | None = ""

    def write(self, nodes: list[Node]) -> None:
        """The statements of the nodes, in order."""
        for name, builtin in custom_builtins.items():
            self.globals[name] = builtin.obj
        seen: set[Node] = set()
        for node in reversed(nodes):
            for read in node._input_nodes:
                if read not in seen:
                    seen.add(read)
                    self._last_uses[node].append(read)
        for index, node in enumerate(nodes):
            if self.verbose:
                self._write_source_line(node)
            length = len(self.body)
            self._write_node(node)
            self._free_unused(node)
            if len(self.body) > length:
                self.body.append(f"# COUNTER: {index}\n")
        self.body = _attach_marks(self.body)

    # Names

    def add_global(self, hint: str, obj: Any) -> str:
        """The name of ``obj`` in the code."""
        if is_from_torch(obj) and obj is not pellucid.device:
            return qualified_name(obj)
        name = hint.replace(".", "_")
        if name in self.globals and self.globals[name] is obj:
            return name
        name = self.namespace.create_name(name, obj)
        self.globals[name] = obj
        return name

    def type_of(self, kind: Any) -> str:
        """A type's expression."""
        if kind == ():
            return "()"
        if isinstance(kind, types.UnionType):
            kind = typing.Union[kind.__args__]  # noqa: UP007 (made of its members)
        arguments = getattr(kind, "__args__", None)
        origin = getattr(kind, "__origin__", None)
        if origin is None or arguments is None:
            return self.add_global(type_repr(kind), kind)
        origin = _GENERIC.get(origin, origin)
        name = self.add_global(type_repr(origin), origin)
        inside = [self.type_of(argument) for argument in arguments]
        return f"{name}[{','.join(inside)}]" if inside else name

    def repr_of(self, arg: Any) -> str:
        """The expression of an argument."""
        if isinstance(arg, Node):
            return repr(arg)
        if isinstance(arg, tuple):
            return self._tuple(arg)
        if isinstance(arg, list):
            return "[" + ", ".join(map(self.repr_of, arg)) + "]"
        if isinstance(arg, dict):
            pairs = (f"{key!r}: {self.repr_of(value)}" for key, value in arg.items())
            return "{" + ", ".join(pairs) + "}"
        if isinstance(arg, slice):
            parts = map(self.repr_of, (arg.start, arg.stop, arg.step))
            return f"slice({', '.join(parts)})"
        if isinstance(arg, _C._OpOverloadBase):
            return self.add_global(qualified_name(arg), arg)
        if isinstance(arg, enum.Enum):
            kind = type(arg)
            return f"{self.add_global(kind.__name__, kind)}.{arg.name}"
        if isinstance(arg, pellucid.Tensor):
            size = list(arg.size())
            return f"torch.Tensor(size={size})" if self.verbose else repr(arg)
        if isinstance(arg, type):
            return self.type_of(arg)
        if isinstance(arg, pellucid.device):
            self.add_global("device", pellucid.device)
        is_function = callable(arg) and hasattr(arg, "__qualname__")
        return self.add_global(arg.__name__, arg) if is_function else repr(arg)

    def _tuple(self, arg: tuple[Any, ...]) -> str:
        inside = [self.repr_of(element) for element in arg]
        if hasattr(arg, "_fields"):
            name = self.add_global(type_repr(type(arg)), type(arg))
            pairs = zip(arg._fields, inside, strict=True)
            return f"{name}({', '.join(f'{key}={value}' for key, value in pairs)})"
        if isinstance(arg, pellucid.Size):
            return f"torch.Size([{', '.join(inside)}])"
        return f"({inside[0]},)" if len(inside) == 1 else f"({', '.join(inside)})"

    def arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """The arguments of a call, as text."""
        shown = [self.repr_of(arg) for arg in args]
        shown += [f"{key} = {self.repr_of(value)}" for key, value in kwargs.items()]
        return ", ".join(shown)

    # Statements

    def _write_node(self, node: Node) -> None:
        annotation = "" if node.type is None else f" : {self.type_of(node.type)}"
        if self.verbose and not annotation:
            annotation = self._type_of_value(node)
        write = getattr(self, f"_write_{node.op}", None)
        if write is None:
            raise NotImplementedError(f"node: {node.op} {node.target}")
        write(node, annotation)

    def _write_placeholder(self, node: Node, annotation: str) -> None:
        target = str(node.target)
        default = f" = {self.repr_of(node.args[0])}" if node.args else ""
        self.free_vars.append(f"{target}{annotation}{default}")
        raw = target.replace("*", "")
        if raw != repr(node):
            self.body.append(f"{node!r} = {raw}\n")

    def _write_call_method(self, node: Node, annotation: str) -> None:
        method = format_target(self.repr_of(node.args[0]), str(node.target))
        arguments = self.arguments(node.args[1:], node.kwargs)
        self.body.append(f"{node!r}{annotation} = {method}({arguments})")

    def _write_call_function(self, node: Node, annotation: str) -> None:
        target: Any = node.target
        name = getattr(target, "__name__", "")
        if getattr(target, "__module__", None) == "_operator" and not node.kwargs:
            shown = [self.repr_of(arg) for arg in node.args]
            if name in magic_methods:
                expression = magic_methods[name].format(*shown)
                self.body.append(f"{node!r}{annotation} = {expression}")
                return
            if name in inplace_methods:
                statement = inplace_methods[name].format(*shown)
                self.body.append(f"{statement};  {node!r}{annotation} = {shown[0]}")
                return
        called = self.add_global(qualified_name(target), target)
        if called == "getattr" and _is_plain_getattr(node):
            read = format_target(self.repr_of(node.args[0]), node.args[1])
            self.body.append(f"{node!r}{annotation} = {read}")
            return
        arguments = self.arguments(node.args, node.kwargs)
        self.body.append(f"{node!r}{annotation} = {called}({arguments})")
        if node.meta.get("is_wrapped", False):
            self.wrapped_names.setdefault(called)

    def _write_call_module(self, node: Node, annotation: str) -> None:
        module = format_target(self.root, str(node.target))
        arguments = self.arguments(node.args, node.kwargs)
        self.body.append(f"{node!r}{annotation} = {module}({arguments})")

    def _write_get_attr(self, node: Node, annotation: str) -> None:
        read = format_target(self.root, str(node.target))
        self.body.append(f"{node!r}{annotation} = {read}")

    def _write_output(self, node: Node, annotation: str) -> None:
        if node.type is not None:
            self.return_annotation = f" -> {self.type_of(node.type)}"
        self.body.append(self.codegen.generate_output(node.args[0]))

    def _free_unused(self, node: Node) -> None:
        if node.op == "placeholder":
            return
        if node.op == "output":
            self.body.append("\n")
            return
        freed = list(self._last_uses.get(node, []))
        if not node.users:
            freed.append(node)
        names = " = ".join([*map(repr, freed), "None"])
        self.body.append(f";  {names}\n" if freed else "\n")

    # Only for ``print_readable``

    def _type_of_value(self, node: Node) -> str:
        value: Any = node.meta.get("val", node.meta.get("tensor_meta"))
        if isinstance(value, pellucid.Tensor) or hasattr(value, "shape"):
            dtype = as_torch(str(value.dtype)).removeprefix("torch.")
            shape = ", ".join(map(str, value.shape))
            text = f"{_SHORT_DTYPE.get(dtype, dtype)}[{shape}]"
            if self.include_stride:
                stride = value.stride
                numbers = stride() if callable(stride) else stride
                text += f"[{', '.join(map(str, numbers))}]"
            if self.include_device and isinstance(value, pellucid.Tensor):
                text += str(value.device)
            return f': "{text}"'
        if isinstance(value, pellucid.SymInt):
            return f': "Sym({value})"'
        return ""

    def _write_source_line(self, node: Node) -> None:
        if node.op in ("placeholder", "output"):
            return
        trace = node.stack_trace
        if trace == self._previous_trace:
            return
        self._previous_trace = trace
        if not trace:
            self.body.append("\n# No stacktrace found for following nodes\n")
            return
        if found := source_line(trace):
            place, code = found
            self.body.append(f"\n # File: {place}, code: {code}\n")


def source_line(trace: str) -> tuple[str, str] | None:
    """The innermost "file:line in function" of a stack trace, and the code there."""
    lines = trace.strip().split("\n")
    for index in range(len(lines) - 1, -1, -1):
        found = _LINE_OF_TRACE.match(lines[index].strip())
        if found:
            code = lines[index + 1].strip() if index + 1 < len(lines) else ""
            return f"{found[1]}:{found[2]} in {found[3]}", code
    return None


def _is_plain_getattr(node: Node) -> bool:
    args = node.args
    is_name = len(args) == 2 and isinstance(args[1], str) and not node.kwargs
    return is_name and args[1].isidentifier()


def _attach_marks(body: list[str]) -> list[str]:
    """Moves each mark to the end of the preceding line."""
    lines: list[str] = []
    for text in body:
        if text.startswith("# COUNTER: "):
            if lines and lines[-1].endswith("\n"):
                lines[-1] = f"{lines[-1][:-1]}{text}"
            continue
        lines.append(text)
    return lines
