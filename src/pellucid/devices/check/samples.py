"""A sample call of any op overload, drawn from its schema: what tests of the whole
catalogue run on, composites and further overloads included.

``sample`` tries arguments by type and name until the op takes them. Where the schema
does not tell what fits together, ``given_calls.py`` does. Tensors are made by
``torch``, the module that is tested. Unlike ``op_samples.py``, which feeds the
interpreter, it needs the built runtime.
"""

from itertools import chain, product
from typing import NamedTuple

import numpy as np
from tools.given_calls import GIVEN
from tools.op_samples import SHAPES

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
MORE_SHAPES = [
    *([(2,), (2, 3), (3,)], [(2, 3), (2,), (3,)], [(2, 3, 5), (2, 3, 4), (2, 4, 5)]),
    *([(1, 2, 5, 5)], [(1, 2, 4, 4, 4)], [(3, 4, 2), (4,)], [(2, 3), (4, 3)]),
    *([(1, 2, 4, 4, 4), (3, 2, 2, 2, 2)], [(5, 2, 4), (3, 4, 6), (6,)], [(2, 4)]),
]


class Draw:
    """Deterministic tensors of a module, of a dtype and of a list of shapes."""

    def __init__(self, torch, dtype, filled, positive, shapes):
        self.torch, self.dtype, self.positive = torch, dtype, positive
        self.filled = filled  # optional arguments are given, and flags are set
        self.shapes, self.count = shapes, 0

    def tensor(self, name):
        shape = self.shapes[min(self.count, len(self.shapes) - 1)]
        self.count += 1
        return self.torch.from_numpy(np.asarray(self._values(name, shape)))

    def _values(self, name, shape):
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


def base_type(argument):
    """``"Tensor"`` of ``Tensor?[]``."""
    return argument.type.split("[")[0].split("?")[0].split("(")[0]


def is_list(argument):
    return "[" in argument.type


def value(argument, draw, rank):
    """One argument."""
    kind, name = base_type(argument), argument.name
    is_plain = kind in ("Tensor", "Scalar") and not is_list(argument)
    is_filled = draw.filled and "?" in argument.type and is_plain
    if argument.has_default_value() and not is_filled:
        default = argument.default_value
        return list(default) if isinstance(default, (list, tuple)) else default
    if kind == "Tensor":
        if "?" in argument.type and is_plain and not is_filled:
            return None
        first = draw.tensor(name)
        if not is_list(argument):
            return first
        return [
            first,
            draw.torch.add(first, 1) if first.dtype != draw.torch.bool else ~first,
        ]
    if argument.type.endswith("?") and not is_filled:
        return None
    if is_list(argument):
        return listed(argument, draw.shapes[0])
    if name.startswith("dim") and kind == "int":
        return rank - 1 if name == "dim1" else 0
    number = 0.5 if draw.dtype in ("float64", "complex128") else 1
    options = {"bool": draw.filled, "int": 1, "SymInt": 2, "str": "fro"}
    options["Scalar"] = number
    if kind == "ScalarType":
        return draw.torch.float32
    return options.get(kind, 0.5)


def listed(argument, shape):
    kind, name = base_type(argument), argument.name
    if name in ("size", "shape", "output_size"):
        return list(shape)
    if name in ("dims", "order"):
        return list(reversed(range(len(shape))))
    count = argument.N or max(len(shape), 1)
    return [{"float": 0.5, "bool": False}.get(kind, 1)] * count


def drawn(schema, draw):
    """(positional, keyword) arguments; those that the op writes are copies."""
    rank = len(draw.shapes[0])
    positional, named = [], {}
    for argument in schema.arguments:
        given = value(argument, draw, rank)
        if argument.kwarg_only:
            named[argument.name] = given
        else:
            positional.append(given)
    return positional, named


def candidates(torch, schema):
    """Argument lists to try, the likely ones first."""
    known = given(torch, schema)
    if known is not None:
        yield known
    for dtype, filled, positive, shapes in product(
        FOUND_ON, (False, True), (False, True), SHAPES + MORE_SHAPES
    ):
        yield drawn(schema, Draw(torch, dtype, filled, positive, shapes))


def given(torch, schema):
    """The arguments of ``GIVEN``, which forms that write share with the others."""
    name = schema.name.removeprefix("aten::")
    form = schema.overload_name
    stem = name.removesuffix("_")
    keys = (f"{name}.{form}", f"{stem}.{form}", f"{name}.{form[:-4]}", name, stem)
    known = next((GIVEN[key] for key in keys if key in GIVEN), None)
    if known is None:
        return None

    def tensor(item):
        if isinstance(item, list):
            return [tensor(i) for i in item]
        return torch.from_numpy(np.array(item)) if hasattr(item, "ndim") else item

    values = [tensor(item) for item in known]
    draw = Draw(torch, "float64", False, False, [(0,)])
    positional, named = [], {}
    for argument in schema.arguments:
        chosen = values.pop(0) if values else value(argument, draw, 1)
        if argument.kwarg_only:
            named[argument.name] = chosen
        else:
            positional.append(chosen)
    return positional, named


def mapped(change, given):
    """Nested lists, tuples and dicts with every tensor changed."""
    if isinstance(given, (list, tuple)):
        return type(given)(mapped(change, g) for g in given)
    if isinstance(given, dict):
        return {k: mapped(change, g) for k, g in given.items()}
    return change(given) if hasattr(given, "untyped_storage") else given


def tensors(given):
    """Every tensor of nested lists, tuples and dicts."""
    if isinstance(given, (list, tuple)):
        return [t for g in given for t in tensors(g)]
    if isinstance(given, dict):
        return tensors(list(given.values()))
    return [given] if hasattr(given, "untyped_storage") else []


class Sample(NamedTuple):
    """A call, and what the overload gave of copies of its arguments."""

    positional: list
    named: dict
    results: object

    def run(self, overload, change=lambda t: t.clone()):
        """What the overload gives of changed arguments."""
        positional, named = mapped(change, (self.positional, self.named))
        return overload(*positional, **named)


def overloads(torch, name):
    """Every overload of an op name."""
    packet = getattr(torch.ops.aten, name)
    return [getattr(packet, form) for form in packet.overloads()]


def with_out(torch, overload):
    """The call of the form without ``out=``, with empty tensors for its results."""
    schema = overload._schema
    written = [a.name for a in schema.arguments if a.is_write and a.kwarg_only]
    wanted = [a.name for a in schema.arguments if a.name not in written]
    for other in overloads(torch, schema.name.removeprefix("aten::")):
        if [a.name for a in other._schema.arguments] != wanted:
            continue
        known = sample(torch, other)
        if known is None or len(tensors(known.results)) != len(written):
            continue
        out = map(torch.empty_like, tensors(known.results))
        yield known.positional, known.named | dict(zip(written, out, strict=True))


def sample(torch, overload):
    """The first call that the overload takes; None when it takes none."""
    schema = overload._schema
    tried = [candidates(torch, schema)]
    if any(a.is_write and a.kwarg_only for a in schema.arguments):
        tried.insert(0, with_out(torch, overload))
    for positional, named in chain(*tried):
        found = Sample(positional, named, None)
        try:
            return found._replace(results=found.run(overload))
        except Exception:
            continue
    return None
