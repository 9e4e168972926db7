"""A sample call of any op overload, drawn from its schema.

``sample`` tries arguments by type and name until the op takes them, first those that a
caller knows where the schema does not tell what fits together (``given``). Read by the
section ``ops`` of the kit, and by the tests of the whole catalogue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, product
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

import pellucid

INDICES = (
    "index",
    "indices",
    "target",
    "targets",
    "sorted_sequence",
    "repeats",
    "dims",
)
MASKS = ("mask", "condition")
FOUND_ON = ("float64", "int64", "complex128", "bool")
SHAPES: list[list[tuple[int, ...]]] = [
    [(2, 3)],
    [(3, 3)],
    [(3,)],
    [(2, 3, 4)],
    [(2, 3), (3, 4)],
    [(2, 3), (3,)],
    [(3,), (2, 3), (3,)],
    [(2,), (3,)],
    [(2, 3), (2,)],
    [(3, 4), (3, 2), (2, 4)],
    [(2, 2, 3), (2, 3, 4)],
    [(2, 4), (2, 2, 3), (2, 3, 4)],
    [(1, 2, 5, 5), (3, 2, 3, 3)],
    [(4, 2, 3), (2, 2), (2,), (2,)],
    [()],
    [(2,), (2, 3), (3,)],
    [(2, 3), (2,), (3,)],
    [(2, 3, 5), (2, 3, 4), (2, 4, 5)],
    [(1, 2, 5, 5)],
    [(1, 2, 4, 4, 4)],
    [(3, 4, 2), (4,)],
    [(2, 3), (4, 3)],
    [(1, 2, 4, 4, 4), (3, 2, 2, 2, 2)],
    [(5, 2, 4), (3, 4, 6), (6,)],
    [(2, 4)],
]

Given = Mapping[str, Sequence[Any]]
"""Arguments by ``name.overload`` or name; further forms of an op share them."""
Arguments = tuple[list[Any], dict[str, Any]]


class Draw:
    """Deterministic tensors of a dtype and of a list of shapes."""

    def __init__(
        self,
        dtype: str,
        filled: bool,
        positive: bool,
        shapes: Sequence[tuple[int, ...]],
    ) -> None:
        self.dtype, self.positive = dtype, positive
        self.filled = filled  # optional arguments are given, and flags are set
        self.shapes, self.count = shapes, 0

    def tensor(self, name: str) -> Any:
        shape = self.shapes[min(self.count, len(self.shapes) - 1)]
        self.count += 1
        return pellucid.from_numpy(np.asarray(self._values(name, shape)))

    def _values(self, name: str, shape: tuple[int, ...]) -> Any:
        places = np.arange(np.prod(shape, dtype=int)).reshape(shape) + 5 * self.count
        if name in INDICES or name.endswith("_lengths"):
            return places % 2
        if name in MASKS or self.dtype == "bool":
            return places % 3 > 0
        if self.dtype == "int64":
            return places % 4 + 1
        waves = np.sin(1.7 * places + 0.3)
        values = np.abs(waves) * 0.7 + 0.2 if self.positive else 2 * waves
        if len(shape) > 1 and shape[-1] == shape[-2]:
            values = values + 3 * np.eye(shape[-1])  # a matrix that has an inverse
        return values * (1 + 0.5j) if self.dtype == "complex128" else values


def base_type(argument: Any) -> str:
    """``"Tensor"`` of ``Tensor?[]``."""
    return str(argument.type).split("[")[0].split("?")[0].split("(")[0]


def is_list(argument: Any) -> bool:
    return "[" in argument.type


def value(argument: Any, draw: Draw, rank: int) -> Any:
    """One argument."""
    kind, name = base_type(argument), argument.name
    is_plain = kind in ("Tensor", "Scalar") and not is_list(argument)
    is_filled = draw.filled and "?" in argument.type and is_plain
    if argument.has_default_value() and not is_filled:
        default = argument.default
        return list(default) if isinstance(default, (list, tuple)) else default
    if kind == "Tensor":
        if "?" in argument.type and is_plain and not is_filled:
            return None
        first = draw.tensor(name)
        if not is_list(argument):
            return first
        return [
            first,
            pellucid.add(first, 1) if first.dtype != pellucid.bool else ~first,
        ]
    if argument.type.endswith("?") and not is_filled:
        return None
    if is_list(argument):
        return listed(argument, draw.shapes[0])
    if name.startswith("dim") and kind == "int":
        return rank - 1 if name == "dim1" else 0
    if name == "ord" and kind == "Scalar":
        return 1  # matrices have a norm of that order, too
    number = 0.5 if draw.dtype in ("float64", "complex128") else 1
    options: dict[str, Any] = {"bool": draw.filled, "int": 1, "SymInt": 2, "str": "fro"}
    options["Scalar"] = number
    if kind == "ScalarType":
        return pellucid.float32
    return options.get(kind, 0.5)


def listed(argument: Any, shape: tuple[int, ...]) -> list[Any]:
    kind, name = base_type(argument), argument.name
    if name in ("size", "shape", "output_size"):
        return list(shape)
    if name in ("dims", "order"):
        return list(reversed(range(len(shape))))
    count = argument.N or max(len(shape), 1)
    element: Any = {"float": 0.5, "bool": False}.get(kind, 1)
    return [element] * count


def drawn(schema: Any, draw: Draw) -> Arguments:
    """(positional, keyword) arguments; those that the op writes are copies."""
    rank = len(draw.shapes[0])
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for argument in schema.arguments:
        given = value(argument, draw, rank)
        if argument.kwarg_only:
            named[argument.name] = given
        else:
            positional.append(given)
    return positional, named


def candidates(schema: Any, given: Given) -> Iterator[Arguments]:
    """Argument lists to try, the likely ones first."""
    known = known_arguments(schema, given)
    if known is not None:
        yield known
    for dtype, filled, positive, shapes in product(
        FOUND_ON, (False, True), (False, True), SHAPES
    ):
        yield drawn(schema, Draw(dtype, filled, positive, shapes))


def known_arguments(schema: Any, given: Given) -> Arguments | None:
    """The arguments that are given, which forms that write share with the others."""
    name = schema.name.removeprefix("aten::")
    form = schema.overload_name
    stem = name.removesuffix("_")
    keys = (f"{name}.{form}", f"{stem}.{form}", f"{name}.{form[:-4]}", name, stem)
    known = next((given[key] for key in keys if key in given), None)
    if known is None:
        return None

    def tensor(item: Any) -> Any:
        if isinstance(item, list):
            return [tensor(i) for i in item]
        return pellucid.from_numpy(np.array(item)) if hasattr(item, "ndim") else item

    values = [tensor(item) for item in known]
    draw = Draw("float64", False, False, [(0,)])
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for argument in schema.arguments:
        chosen = values.pop(0) if values else value(argument, draw, 1)
        if base_type(argument) == "ScalarType" and isinstance(chosen, str):
            chosen = getattr(pellucid, chosen)
        if argument.kwarg_only:
            named[argument.name] = chosen
        else:
            positional.append(chosen)
    return positional, named


def mapped(change: Callable[[Any], Any], given: Any) -> Any:
    """Nested lists, tuples and dicts with every tensor changed."""
    if isinstance(given, (list, tuple)):
        return type(given)(mapped(change, g) for g in given)
    if isinstance(given, dict):
        return {k: mapped(change, g) for k, g in given.items()}
    return change(given) if hasattr(given, "untyped_storage") else given


def tensors(given: Any) -> list[Any]:
    """Every tensor of nested lists, tuples and dicts."""
    if isinstance(given, (list, tuple)):
        return [t for g in given for t in tensors(g)]
    if isinstance(given, dict):
        return tensors(list(given.values()))
    return [given] if hasattr(given, "untyped_storage") else []


class Sample(NamedTuple):
    """A call, and what the overload gave of copies of its arguments."""

    positional: list[Any]
    named: dict[str, Any]
    results: Any

    def run(
        self, overload: Any, change: Callable[[Any], Any] = lambda t: t.clone()
    ) -> Any:
        """What the overload gives of changed arguments."""
        positional, named = mapped(change, (self.positional, self.named))
        return overload(*positional, **named)


def overloads(name: str) -> list[Any]:
    """Every overload of an op name."""
    return list(pellucid._C._overloads(name).values())


def with_out(overload: Any, given: Given) -> Iterator[Arguments]:
    """The calls of forms without ``out=``, with empty tensors for their results: first
    of those whose arguments have the same types.
    """
    schema = overload._schema
    written = [a.name for a in schema.arguments if a.is_write and a.kwarg_only]
    wanted = [a for a in schema.arguments if a.name not in written]
    types = [str(a.type) for a in wanted]
    found = [
        o
        for o in overloads(schema.name.removeprefix("aten::"))
        if [a.name for a in o._schema.arguments] == [a.name for a in wanted]
    ]
    found.sort(key=lambda o: [str(a.type) for a in o._schema.arguments] != types)
    for other in found:
        known = sample(other, given)
        if known is None or len(tensors(known.results)) != len(written):
            continue
        out = map(pellucid.empty_like, tensors(known.results))
        yield known.positional, known.named | dict(zip(written, out, strict=True))


def sample(overload: Any, given: Given = MappingProxyType({})) -> Sample | None:
    """The first call that the overload takes; None when it takes none."""
    schema = overload._schema
    tried = [candidates(schema, given)]
    if any(a.is_write and a.kwarg_only for a in schema.arguments):
        tried.insert(0, with_out(overload, given))
    for positional, named in chain(*tried):
        found = Sample(positional, named, None)
        try:
            return found._replace(results=found.run(overload))
        except Exception:
            continue
    return None
