"""Printing of scalar expressions, dtypes and axes.

The text is stable: golden tests compare it, and kernels are named by it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pellucid_compiler.ir.expr import LOADS, SCALAR_OPS, Expr, load_fill, load_index

if TYPE_CHECKING:
    from pellucid_compiler.ir.graph import Graph, Value

_AXES = "ijklmnopqrstuvw"


def axis_name(number: int) -> str:
    return _AXES[number] if number < len(_AXES) else f"i{number}"


def short_dtype(dtype: str) -> str:
    """``f32`` for float32, ``i64`` for int64, ``bf16``, ``bool``, ..."""
    for name, short in (("bfloat", "bf"), ("complex", "c"), ("float", "f")):
        if dtype.startswith(name):
            return short + dtype[len(name) :]
    return dtype.replace("uint", "u").replace("int", "i")


def _operand_name(operand: Any) -> str:
    return f"x{operand}"


def show_expr(e: Expr, name: Callable[[Any], str] = _operand_name) -> str:
    """``e`` in infix form; ``name`` gives the name of a load's operand."""
    text: list[str] = []
    rest: list[Expr | str] = [e]
    while rest:
        part = rest.pop()
        if isinstance(part, str):
            text.append(part)
        else:
            rest += reversed(_parts(part, name))
    return "".join(text)


def _parts(e: Expr, name: Callable[[Any], str]) -> list[Expr | str]:
    """The text of ``e``, with operands in place of their texts."""
    if e.op == "const":
        return [_show_constant(e)]
    if e.op == "sym":
        return [str(e.attr)]
    if e.op == "axis":
        return [axis_name(e.attr)]
    if e.op in LOADS:
        fill = load_fill(e)
        filled: list[Expr | str] = [] if fill is None else [" else ", fill]
        return [f"{name(e.attr)}[", *_listed(load_index(e)), *filled, "]"]
    args = e.args
    if e.op == "with_partials":
        return [args[0]]
    if e.op == "checked":
        return ["checked(", args[0], " where ", args[1], ")"]
    if e.op == "select":
        return ["(", args[1], " if ", args[0], " else ", args[2], ")"]
    if e.op in ("cast", "bitcast"):
        prefix = "bitcast_" if e.op == "bitcast" else ""
        return [f"{prefix}{short_dtype(e.dtype)}(", args[0], ")"]
    symbol = SCALAR_OPS[e.op].symbol
    if symbol is None:
        return [f"{e.op}(", *_listed(args), ")"]
    if len(args) == 2:
        return ["(", args[0], f" {symbol} ", args[1], ")"]
    return [symbol, args[0]]


def _listed(exprs: Sequence[Expr]) -> list[Expr | str]:
    separated: list[Expr | str] = []
    for e in exprs:
        separated += [", ", e]
    return separated[1:]


def _show_constant(e: Expr) -> str:
    return repr(e.attr)


def show_graph(graph: Graph, indent: str = "") -> str:
    """``graph`` in text: inputs, one line per node with its kind, outputs."""
    names: dict[Value, str] = {}
    for k, value in enumerate(graph.inputs):
        names[value] = value.name or f"a{k}"
    if len(set(names.values())) < len(names):
        names = {value: f"a{k}" for k, value in enumerate(graph.inputs)}

    def typed(value: Value) -> str:
        sizes = ", ".join(show_expr(n) for n in value.shape)
        return f"{names[value]}: {short_dtype(value.dtype)}[{sizes}]"

    lines = [f"{indent}{graph.name}({', '.join(map(typed, graph.inputs))}):"]
    for requirement in graph.requirements:
        lines.append(f"{indent}  require {requirement.condition}")
    count = 0
    for node in graph.nodes:
        for value in node.outputs:
            names[value] = f"t{count}"
            count += 1
        left = ", ".join(map(typed, node.outputs))
        lines.append(f"{indent}  {left} = {node.primitive.show(node, names)}")
        for body in node.primitive.bodies(node.attrs):
            lines.append(show_graph(body, indent + "      "))
    lines.append(f"{indent}  return {', '.join(names[v] for v in graph.outputs)}")
    return "\n".join(lines)
