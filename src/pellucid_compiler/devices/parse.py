"""Kernels from their canonical texts: the definitions that ship beside machine code.

``parse_kernel(kernel.text)`` is a Kernel of the same text, so of the same id. Whoever
has no machine code for a kernel (a device, checked mode) reads its definition here.
Read next: ``kernel.py``, which writes the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pellucid_compiler.codegen.kernel import (
    Block,
    Form,
    Gemm,
    Kernel,
    Map,
    Member,
    Nest,
    Pass,
    Reduce,
    RowAdd,
    RowMap,
    RowReduce,
    Rows,
    RowStore,
    Scan,
    Store,
)
from pellucid_compiler.ir.dtypes import DTYPES
from pellucid_compiler.ir.expr import LOADS, Expr, intern_expr
from pellucid_compiler.ir.show import short_dtype

_HEAD = re.compile(r"(\w+) \((.*?)\) \((.*?)\) -> \((.*?)\)")
_NEST = re.compile(
    r"(?P<combine>\w+) (?P<rank>\d+) \[(?P<ranks>[\d ]*)\] (?P<drops>[ds]*)"
    r"(?: proved(?P<proved>(?: \d+\.\d+)+))?"
    r"(?: channels_last(?P<order>(?: \d+)+))?(?P<begins> begins)?"
)
_LONG = {short_dtype(dtype): dtype for dtype in DTYPES}
_OUTPUT_PASSES: dict[str, Callable[[Expr, int], Pass]] = {
    "map": RowMap,
    "store": RowStore,
    "add": RowAdd,
}


def long_dtype(short: str) -> str:
    """``float32`` for ``f32``."""
    return _LONG.get(short, short)


def parse_kernel(text: str) -> Kernel:
    """The kernel of a canonical text; ValueError for any other text."""
    head, *lines = text.splitlines()
    found = _HEAD.fullmatch(head)
    if found is None:
        raise ValueError(f"this is not the text of a kernel: {head!r}")
    inputs, params, outputs = (_dtypes(found[k]) for k in (2, 3, 4))
    if found[1] == "block":
        return Kernel(_block(lines), inputs, outputs, params)
    first = next((n for n, line in enumerate(lines) if line.startswith("%")), None)
    returns = len(lines) - 1 if lines else 0
    body = returns if first is None else first
    roots = _expressions(lines[body:])
    return Kernel(_form(found[1], lines[:body], roots), inputs, outputs, params)


def _dtypes(text: str) -> tuple[str, ...]:
    return tuple(long_dtype(short) for short in text.split(", ") if short)


def _form(name: str, heads: list[str], roots: list[Expr]) -> Form:
    if name == "map":
        return Map(tuple(roots))
    if name in ("reduce", "scan"):
        combine, accumulator = heads[0].split()
        kind = Reduce if name == "reduce" else Scan
        return kind(roots[0], combine, long_dtype(accumulator))
    if name == "rows":
        return _rows(heads, roots)
    if name == "nest":
        return _nest(heads[0], iter(roots))
    if name == "gemm":
        return Gemm()
    raise ValueError(f"there is no form of kernels named {name!r}")


def _rows(heads: list[str], roots: list[Expr]) -> Rows:
    per_row: tuple[int, ...] = ()
    if heads and heads[0].startswith("per row "):
        per_row = tuple(map(int, heads.pop(0).split()[2:]))
    passes: list[Pass] = []
    for head, value in zip(heads, roots, strict=True):
        word, detail = head.split()
        if word in _OUTPUT_PASSES and detail.isdigit():
            passes.append(_OUTPUT_PASSES[word](value, int(detail)))
        else:
            passes.append(RowReduce(value, word, long_dtype(detail)))
    return Rows(tuple(passes), per_row)


def _nest(head: str, roots: Iterator[Expr]) -> Nest:
    found = _NEST.fullmatch(head)
    if found is None:
        raise ValueError(f"this is not the head of a nest: {head!r}")
    ranks = tuple(map(int, found["ranks"].split()))
    every = list(roots)
    drops, has_payload = found["drops"], found["combine"].startswith("arg")
    size = len(every) // len(drops)
    stores = []
    for number, drop in enumerate(drops):
        own = every[number * size : (number + 1) * size]
        payload = own.pop() if has_payload else None
        *index, value = own
        stores.append(Store(tuple(index), value, drop == "d", payload))
    pairs = (pair.split(".") for pair in (found["proved"] or "").split())
    return Nest(
        rank=int(found["rank"]),
        operand_ranks=ranks,
        stores=tuple(stores),
        combine=found["combine"],
        proved=frozenset((int(k), int(dim)) for k, dim in pairs),
        channels_last_order=tuple(map(int, (found["order"] or "").split())),
        begins=found["begins"] is not None,
    )


def _block(lines: list[str]) -> Block:
    parallel, ordered, in_order, triangle = _numbers(lines[0])
    starts = [n for n, line in enumerate(lines) if line.startswith("member ")]
    values = tuple(_numbers(line[6:]) for line in lines[1 : starts[0]])
    ends = [*starts[1:], len(lines)]
    members = [_member(lines[a:b]) for a, b in zip(starts, ends, strict=True)]
    return Block(tuple(members), values, parallel, ordered, bool(in_order), triangle)


def _member(lines: list[str]) -> Member:
    head, _, operands = lines[0].removeprefix("member ").partition(" of ")
    stored, first_param, *classes = _numbers(head)
    kernel = parse_kernel("\n".join(line[2:] for line in lines[1:]))
    return Member(kernel, stored, tuple(classes), _numbers(operands), first_param)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split()))


def _expressions(lines: Sequence[str]) -> list[Expr]:
    made: list[Expr] = []
    for line in lines[:-1]:
        _, _, op, short, *words = line.split(" ")
        args = tuple(made[int(w[1:])] for w in words if w.startswith("%"))
        plain = [w for w in words if not w.startswith("%")]
        dtype = long_dtype(short)
        made.append(intern_expr(op, args, _attribute(op, dtype, plain), dtype))
    if not lines:
        return []
    return [made[int(word[1:])] for word in lines[-1].split()[1:]]


def _attribute(op: str, dtype: str, words: list[str]) -> Any:
    if op == "const":
        return _number(dtype, words)
    if not words:
        return None
    return int(words[0]) if op in (*LOADS, "axis", "checked") else words[0]


def _number(dtype: str, words: list[str]) -> bool | int | float | complex:
    if len(words) == 2:
        return complex(float.fromhex(words[0]), float.fromhex(words[1]))
    word = words[0]
    if word in ("True", "False"):
        return word == "True"
    is_integer = word.lstrip("-").isdigit()
    return int(word) if is_integer else float.fromhex(word)
