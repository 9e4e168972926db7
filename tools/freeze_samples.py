"""Which keys of an op the build freezes: sample arguments by the types of its schema.

A key that is not frozen is traced when it is first met, which costs milliseconds and
the import of the op sources; samples decide speed at start-up, never what works. Called
by freeze.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from pellucid.ir.dtypes import is_float
from pellucid.lang.op import Op
from pellucid.lang.schema import Argument
from pellucid.specialise.requests import TensorLike

DTYPES = (
    "float32",
    "float64",
    "bfloat16",
    "float16",
    "int64",
    "int32",
    "uint8",
    "bool",
)
FLOATS = ("float32", "float64", "bfloat16", "float16")
RARE_DTYPES = ("float32", "float64")  # of an op that is declared rare
_STRINGS: dict[str, tuple[str | None, ...]] = {
    "approximate": ("none", "tanh"),
    "rounding_mode": ("trunc", "floor"),
    "reduction": ("mean", "sum", "none"),
    "mode": ("reflect", "replicate", "constant"),
    "nonlinearity": ("tanh", "relu"),
}
# Tensor arguments that hold indices or labels.
_INTEGERS = ("index", "indices", "target")
# Tensor arguments that have a rank of their own; a weight may also have the input's.
_VECTORS = ("bias", "running_mean", "running_var")
_WEIGHTS = ("weight",)
_MATRICES = ("hidden", "cell", "projection")
_MASKS = ("active",)
STATES = ("hidden", "cell")  # of a recurrence: they seldom need a gradient
_SIZES = (5, 3, 4, 2, 6)
LIST_LENGTHS = (2, 3)  # of tensors that are joined
MAX_KEYS = 64  # of one op in float32; its views are small, it may have more
MAX_VIEW_KEYS = 320
MAX_RARE_KEYS = 8


def frozen_dtypes(op: Op) -> tuple[str, ...]:
    """The dtypes in which the build prepares an op."""
    return RARE_DTYPES if op.options.rare else DTYPES


def pointwise_samples(op: Op, dtype: str) -> Iterator[list[Any]]:
    """Arguments of a pointwise op whose promoted tensors have ``dtype``."""
    choices = [
        _pointwise_choices(op, argument, dtype) for argument in op.schema.arguments
    ]
    for values in itertools.product(*choices):
        if any(isinstance(value, (TensorLike, list)) for value in values):
            yield list(values)


def _pointwise_choices(op: Op, argument: Argument, dtype: str) -> list[Any]:
    number: Any = True if dtype == "bool" else 2
    numbers = [2.0, 2] if is_float(dtype) else [number]
    choices: list[Any]
    if argument.is_tensor:
        tensor = TensorLike(dtype, (2,))
        if argument.is_list:
            return [[tensor], []]
        choices = [tensor]
        if argument.name in op.options.unpromoted:
            choices.append(TensorLike("bool", (2,)))
        if argument.name in op.options.numbers:
            choices += numbers
    elif argument.type == "Scalar":
        choices = numbers
        if argument.has_default and argument.default is not None:
            choices = [numbers[0], argument.default]
    elif argument.type == "float":
        choices = [0.5]
    elif argument.type == "ScalarType":
        choices = list(DTYPES)
    else:
        choices = _static_choices(argument)
    if op.kind == "foreach" and argument.is_tensor:
        return [None]  # a gradient scaler's arguments
    return [*choices, None] if argument.optional else choices


def _static_choices(argument: Argument) -> list[Any]:
    if argument.type == "bool":
        return [None, False, True] if argument.optional else [False, True]
    if argument.type == "str":
        return list(_STRINGS.get(argument.name, (argument.default,)))
    return [] if argument.optional else [argument.default]


def graph_samples(op: Op) -> Iterator[tuple[int, Iterator[list[Any]]]]:
    """Arguments of any other op: ranks, dims and flags that programs use most, and of
    how many that the op accepts keys are wanted.

    float32 in many forms; the other dtypes in those that decide which kernels there
    are.
    """
    is_view = op.kind == "view"
    if op.options.rare:
        for dtype in RARE_DTYPES:
            yield MAX_RARE_KEYS, _graph_calls(op, dtype, 2)
        return
    # A recurrence is over (time, batch, features).
    others = (2, 3) if op.kind == "scan" else (2,)
    for dtype in DTYPES:
        ranks = range(6 if is_view else 5) if dtype == "float32" else others
        if dtype == "int64":
            ranks = (1, *others)  # labels
        most = MAX_VIEW_KEYS if is_view else MAX_KEYS
        limit = most if dtype == "float32" else MAX_KEYS // 8
        for rank in ranks:
            yield limit // len(ranks), _graph_calls(op, dtype, rank)


def _graph_calls(op: Op, dtype: str, rank: int) -> Iterator[list[Any]]:
    choices = [
        _graph_choices(argument, dtype, rank) for argument in op.schema.arguments
    ]
    yield from (list(values) for values in itertools.product(*choices))


def _graph_choices(argument: Argument, dtype: str, rank: int) -> list[Any]:
    if argument.is_tensor:
        tensor = TensorLike(dtype, _SIZES[:rank])
        choices: list[Any] = [tensor]
        if argument.is_list:
            choices = [[tensor] * count for count in LIST_LENGTHS]
        if argument.name in _VECTORS:
            choices = [TensorLike(dtype, _SIZES[:1])]
        if argument.name in _MATRICES:
            choices = [TensorLike(dtype, _SIZES[:2])]
        if argument.name in _MASKS:
            choices = [TensorLike("bool", _SIZES[:2])]
        if argument.name in _WEIGHTS:
            ranks = sorted({1, 2, rank})
            choices = [TensorLike(dtype, _SIZES[:r]) for r in ranks]
        if argument.name in _INTEGERS:
            ranks = sorted({rank, max(rank - 1, 0), 1})
            whole = [TensorLike("int64", _SIZES[:r]) for r in ranks]
            choices = [[w] for w in whole] if argument.is_list else [*whole, tensor]
        return [*choices, None] if argument.optional else choices
    if argument.name.startswith("dim") and argument.type == "int":
        return _dims(argument, rank)
    if argument.is_list:
        if argument.has_default:
            return [argument.default]
        counts = {argument.length} if argument.length else _lengths(argument, rank)
        item = 2 if argument.type in ("int", "SymInt") else 0.5
        return [[item] * count for count in sorted(counts)]
    if argument.type == "SymInt":
        return [argument.default if argument.has_default else 1]
    if argument.type in ("float", "Scalar"):
        numbers = [0.5] if argument.type == "float" else [2, 0.5]
        return [argument.default] if argument.has_default else numbers
    if argument.type == "ScalarType" and argument.optional:
        return [None]
    return _static_choices(argument) or [argument.default]


def _lengths(argument: Argument, rank: int) -> set[int]:
    """Of a list of sizes: a new shape may have any rank."""
    return set(range(1, 6)) if argument.name in ("size", "shape") else {1, rank}


def _orders(rank: int) -> list[Any]:
    """Permutations of the dims: all of them up to 4 dims, the usual ones of 5."""
    if rank < 5:
        return [list(order) for order in itertools.permutations(range(rank))]
    heads_first = [2, 0, 3, 1, 4]  # (batch, time, 3, heads, size) of attention
    channels = [[0, 2, 3, 4, 1], [0, 4, 1, 2, 3], [0, 1, 3, 2, 4], [0, 2, 1, 3, 4]]
    return [heads_first, *channels]


def _dims(argument: Argument, rank: int) -> list[Any]:
    dims = [-1, *range(rank), *range(-rank, -1)] if rank else [-1, 0]
    if not argument.is_list:
        return list(dims)
    single = [[d] for d in dims]
    pairs = [list(p) for p in itertools.combinations(range(rank), 2)]
    whole: list[Any] = [None] if argument.optional else [list(range(rank))]
    if argument.name == "dims" and not argument.length:
        whole = _orders(rank)
    return [*whole, *single, *pairs]
