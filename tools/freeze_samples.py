"""Which keys of an op the build freezes: sample arguments by the types of its schema.

A key that is not frozen is traced at first use, which costs milliseconds and the import
of the op sources; samples affect start-up speed, never what works. Called by freeze.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from pellucid_compiler.declare.op import Op
from pellucid_compiler.declare.schema import Argument
from pellucid_compiler.ir.dtypes import is_float
from pellucid_compiler.specialise.requests import TensorLike

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
# Tensor arguments that are indices or labels.
_INDICES = ("index", "indices", "target")
# Tensor arguments with a rank of their own; a weight may also have the input's rank.
_VECTORS = ("bias", "running_mean", "running_var", "mean", "variance")
_WEIGHTS = ("weight",)
_MATRICES = ("hidden", "cell", "projection")
_ACTIVE = ("active",)
_MASKS = ("mask", "condition", "keep_mask")
_FORMS = {"stride": 2, "padding": 1}  # what is not the default is a form of its own
_ATTENTION_MASKS = ("attn_mask",)
_FACTORY_DTYPES = (None, "float32", "int64", "bool", "float64")
_SHAPES = ("size", "shape")
STATES = ("hidden", "cell", "attn_mask")  # which seldom need a gradient
_SIZES = (5, 3, 4, 2, 6)
MAX_KEYS = 48  # of one op in float32, but for these; the last two are small
_MORE_KEYS = {"contraction": 80, "reduction": 80, "factory": 120, "view": 240}
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
    numbers = [2.0, 2] if is_float(dtype) else [True] if dtype == "bool" else [2]
    choices: list[Any]
    if argument.is_tensor:
        tensor = TensorLike(dtype, (2,))
        if argument.is_list:
            return [[tensor], []]
        choices = [tensor]
        if argument.name in op.options.unpromoted:
            choices.append(TensorLike("bool", (2,)))
        elif dtype == "float32" and _num_tensors(op) <= 2:
            choices.append(TensorLike(dtype, ()))  # a loss, a learning rate
        if argument.name in op.options.numbers:
            choices += numbers
    elif argument.type == "Scalar":
        default = argument.default
        choices = numbers if default is None else [numbers[0], default]
    elif argument.type == "float":
        choices = [0.5]
    elif argument.type == "ScalarType":
        choices = [*DTYPES] if argument.optional else [argument.default]
    else:
        choices = _static_choices(argument)
    if op.kind == "foreach" and argument.is_tensor:
        return [None]  # a gradient scaler's arguments
    return [*choices, None] if argument.optional else choices


def _num_tensors(op: Op) -> int:
    return sum(argument.is_tensor for argument in op.schema.arguments)


def _static_choices(argument: Argument) -> list[Any]:
    if argument.type == "bool":
        return [None, False, True] if argument.optional else [False, True]
    if argument.type == "str":
        return list(_STRINGS.get(argument.name, (argument.default,)))
    return [] if argument.optional else [argument.default]


def graph_samples(op: Op) -> Iterator[tuple[int, Iterator[list[Any]]]]:
    """Arguments of any other op: the ranks, dims and flags that programs use most, and
    for how many of the accepted samples keys are wanted.

    float32 in many forms; the other dtypes only in those that determine which kernels
    exist.
    """
    if op.options.rare:
        for dtype in RARE_DTYPES:
            yield MAX_RARE_KEYS, _GraphSamples(op, dtype, 2).calls()
        return
    limit = _MORE_KEYS.get(op.kind, MAX_KEYS)
    if op.kind == "factory" and not _num_tensors(op):
        yield limit, _GraphSamples(op, "float32", 0).calls()
        return
    is_small = op.kind in ("view", "factory")
    # A recurrence is over (time, batch, features).
    others = (2, 3) if op.kind == "scan" else op.options.ranks[-1:] or (2,)
    most = op.options.ranks or range(6 if is_small else 5)
    for dtype in DTYPES:
        is_common = dtype == "float32"
        ranks = most if is_common else others
        if dtype in ("int64", "bool"):
            ranks = range(5) if is_small else (1, 2, 3)  # labels and masks
            wanted = limit // 4 // len(ranks)
        elif is_common:
            wanted = limit // (6 if is_small else 5)
        else:
            wanted = limit // (4 if is_small else 8) // len(ranks)
        for rank in ranks:
            yield wanted, _GraphSamples(op, dtype, rank).calls()
            if is_common or op.kind == "view":
                # A batch, channel or column of size 1 is broadcast.
                for axis in sorted({rank - 1, 0, min(rank, 1)} - {rank}):
                    yield wanted // 3, _GraphSamples(op, dtype, rank, axis).calls()


class _GraphSamples:
    """The possible arguments of an op with a Graph at one dtype and rank.

    Tensors of one rank have one shape, in which ``axis`` has size 1.
    """

    def __init__(self, op: Op, dtype: str, rank: int, axis: int = -1) -> None:
        self.op, self.dtype, self.rank = op, dtype, rank
        self.is_factory, self.is_ordinary = op.kind == "factory", axis < 0
        self.sizes = tuple(1 if k == axis else n for k, n in enumerate(_SIZES))

    def calls(self) -> Iterator[list[Any]]:
        choices = map(self._choices, self.op.schema.arguments)
        yield from (list(values) for values in itertools.product(*choices))

    def _tensor(self, rank: int, dtype: str = "") -> TensorLike:
        return TensorLike(dtype or self.dtype, self.sizes[:rank])

    def _choices(self, argument: Argument) -> list[Any]:
        if argument.is_tensor:
            choices = self._tensors(argument)
            if not argument.optional:
                return choices
            is_usual = argument.name in (*_VECTORS, *_MATRICES)
            return [*choices, None] if is_usual else [None, *choices]
        if argument.name.startswith("dim") and argument.type == "int":
            return _dims(argument, self.rank)
        if argument.is_list:
            return self._lists(argument)
        if argument.type == "SymInt":
            groups = [2] if argument.name == "groups" else []
            return [argument.default if argument.has_default else 1, *groups]
        if argument.type in ("Scalar", "float"):
            return self._numbers(argument)
        if argument.type == "ScalarType" and argument.optional:
            return [*_FACTORY_DTYPES] if self.is_factory else [None]
        return _static_choices(argument) or [argument.default]

    def _tensors(self, argument: Argument) -> list[Any]:
        name = argument.name
        if name in _INDICES:
            return self._indices(argument)
        if name in _VECTORS:
            return [self._tensor(1)]
        if name in _MATRICES:
            return [self._tensor(2)]
        if name in _ACTIVE:
            return [self._tensor(2, "bool")]
        if name in _MASKS:
            return [self._tensor(self.rank, "bool")]
        if name in _ATTENTION_MASKS:
            keys = (self.sizes[0], 1, 1, self.sizes[2])[: self.rank]  # that are padding
            padding = TensorLike(self.dtype, keys)
            return [self._tensor(2), self._tensor(2, "bool"), padding]
        if name in _WEIGHTS:
            return [self._tensor(rank) for rank in sorted({1, 2, self.rank})]
        tensor = self._tensor(self.rank)
        return [[tensor, tensor]] if argument.is_list else [tensor]

    def _indices(self, argument: Argument) -> list[Any]:
        """Integers; for a list of indices also masks, pairs and later dims."""
        ranks = sorted({self.rank, max(self.rank - 1, 0), 1})
        whole = [self._tensor(rank, "int64") for rank in ranks]
        if argument.name == "target":
            labels = self._tensor(max(self.rank - 1, 0), "int64")
            values = self._tensor(self.rank)
            usual = [labels, values] if self.is_ordinary else [values, labels]
            return [*usual, *whole]
        if not argument.is_list:
            return whole[::-1]
        vector, mask = self._tensor(1, "int64"), self._tensor(1, "bool")
        masks = [[mask], [self._tensor(self.rank, "bool")]]
        several = [[vector, vector], [None, vector], [None, mask]]
        return [*([w] for w in whole), *masks, *several]

    def _lists(self, argument: Argument) -> list[Any]:
        item = 2 if argument.type in ("int", "SymInt") else 0.5
        if argument.has_default:
            form, length = _FORMS.get(argument.name), argument.length
            return [argument.default, *([[form] * length] if form and length else [])]
        rank = self.rank
        counts = {argument.length} if argument.length else _lengths(argument, rank)
        if argument.name in _SHAPES:
            return [sizes for count in sorted(counts) for sizes in _shapes(count)]
        return [[item] * count for count in sorted(counts)]

    def _numbers(self, argument: Argument) -> list[Any]:
        if argument.type == "Scalar" and (self.is_factory or not argument.has_default):
            return [2, 0.5]
        if not argument.has_default:
            return [0.5]
        default = argument.default
        is_whole = argument.type == "Scalar" and type(default) is int
        return [default, float(default)] if is_whole else [default]


def _lengths(argument: Argument, rank: int) -> set[int]:
    """The lengths of a list of sizes: a new shape may have any rank."""
    return set(range(6)) if argument.name in _SHAPES else {1, rank}


def _shapes(count: int) -> Iterator[list[int]]:
    """Sizes that are all given, or all but one."""
    given = [2] * count
    yield given
    if count:
        yield [-1, *given[1:]]
    if count > 1:
        yield [*given[1:], -1]


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
        last = [rank] if rank else []  # unsqueeze may add a last dim
        return [*([None] if argument.optional else []), *dims, *last]
    single = [[d] for d in dims]
    pairs = [list(p) for p in itertools.combinations(range(rank), 2)]
    whole: list[Any] = [None] if argument.optional else [list(range(rank))]
    if argument.name == "dims" and not argument.length:
        whole = _orders(rank)
    return [*whole, *single, *pairs]
