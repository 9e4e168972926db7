"""Calls that ``check_programs.py`` draws besides those of PyTorch's table: operators,
indexing, and calls of ops with arguments that fit together (``schema_calls.py``).
"""

from __future__ import annotations

import operator
import random
from functools import cache
from typing import Any

from tools.schema_calls import sample

import pellucid

OPERATORS = (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"),
    *("and_", "or_", "xor", "lshift", "rshift", "lt", "le", "eq", "ne", "gt", "ge"),
    *("iadd", "isub", "imul", "itruediv", "iand", "ior", "ixor", "ifloordiv", "imod"),
    *("neg", "invert", "abs", "pos"),
)
UNARY = ("neg", "invert", "abs", "pos")
FORMS = ("operator", "getitem", "setitem")
NUMBERS = (0, 1, 2, -1, 0.5, 2.5, True, -0.5, 1j)


def operation(form: str, name: str, args: list[Any]) -> Any:
    """Runs a call of one of ``FORMS``."""
    if form == "operator":
        return getattr(operator, name)(*args)
    if form == "getitem":
        return args[0][args[1]]
    args[0][args[1]] = args[2]
    return args[0]


def index(draw: random.Random, shape: tuple[int, ...], tensors: list[Any]) -> Any:
    """An index of a tensor of this shape, seldom one that does not fit."""
    items: list[Any] = []
    for size in shape[: draw.randint(0, len(shape))]:
        kind = draw.random()
        if kind < 0.3:
            items.append(draw.randint(-size, max(size - 1, 0)))
        elif kind < 0.6:
            ends = [draw.choice([None, 0, 1, 2, -1, -2]) for _ in range(2)]
            items.append(slice(*ends, draw.choice([None, None, 1, 2])))
        elif kind < 0.7:
            items.append([draw.randint(0, max(size - 1, 0)) for _ in range(2)])
        elif kind < 0.8 and tensors:
            items.append(draw.choice(tensors))
        elif kind < 0.85:
            items.append(draw.random() < 0.5)
        else:
            items.append(slice(None))
    if draw.random() < 0.2:
        items.insert(draw.randint(0, len(items)), None)
    if draw.random() < 0.15:
        items.insert(draw.randint(0, len(items)), Ellipsis)
    return items[0] if len(items) == 1 and draw.random() < 0.7 else tuple(items)


@cache
def known_call(name: str, overload: str) -> Any:
    """(positional, named) arguments that an overload takes; None if none are known."""
    record = pellucid._C._overloads(name).get(overload or "default")
    found = sample(record) if record is not None else None
    return found and (found.positional, found.named)
