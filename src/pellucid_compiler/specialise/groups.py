"""Groups of pointwise ops as one map kernel: recorded ops over one space, fused.

The runtime (runtime/record/groups.cpp) describes a group by the request that made each
op's function, where each of its operands comes from, and which values it gives. The
functions are substituted into each other, with each op's rounding in place, so the
kernel gives the bits that the ops give one by one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from pellucid_compiler.abi.dtypes import CODES
from pellucid_compiler.abi.encode import decode, encode
from pellucid_compiler.codegen.kernel import Kernel
from pellucid_compiler.declare.scalar_function import ScalarFunction, element_of
from pellucid_compiler.declare.schema import parse_schema
from pellucid_compiler.ir.expr import Expr, cast, const, rewrite, sym
from pellucid_compiler.lower.tile import tile_program
from pellucid_compiler.specialise.answer import resolve
from pellucid_compiler.specialise.members import FIRST_VALUE, member_of
from pellucid_compiler.specialise.scalars import lower_function

ONE = -1
"""The class of a number that is 1.0."""

_PARTS = ("whole", "real", "imaginary")  # as ScalarFunction::Part of the runtime


class Group(NamedTuple):
    """A function of the group's inputs, and where its numbers come from.

    ``numbers`` are (op, argument) of the parameters ``n0``, ``n1``, ...
    """

    function: ScalarFunction
    numbers: tuple[tuple[int, int], ...]


def group_of(description: bytes) -> Group:
    """The group that ``description`` says, as one function."""
    fields: Any = decode(description)
    described, outputs = fields
    values: list[Expr] = []
    inputs: dict[int, str] = {}
    numbers: list[tuple[int, int]] = []
    shared: dict[tuple[int, str], str] = {}
    for position, (request, operands, classes) in enumerate(described):
        member = member_of(request, resolve)
        places = dict(map(tuple, operands))
        names = {a.name: k for k, a in enumerate(member.schema.arguments)}
        read: list[Expr | None] = []
        for argument, dtype in zip(member.tensors, member.function.inputs, strict=True):
            place = places.get(argument)
            if place is None:  # the function does not read it
                read.append(None)
            elif place >= FIRST_VALUE:
                read.append(cast(values[place - FIRST_VALUE], dtype))
            else:
                inputs[place] = dtype
                read.append(element_of(place, dtype))
        class_of = dict(map(tuple, classes))

        def number(
            e: Expr, at: Any = (position, class_of, names), shared: Any = shared
        ) -> Expr:
            position, class_of, names = at
            argument = names[e.attr]
            if class_of[argument] == ONE:
                return const(1.0, e.dtype)
            key = class_of[argument], e.dtype
            if key not in shared:
                shared[key] = f"n{len(numbers)}"
                numbers.append((position, argument))
            return sym(shared[key], e.dtype)

        def leaf(e: Expr, _: Any, read: Any = read, number: Any = number) -> Any:
            if e.op == "load":
                return read[e.attr]
            return number(e) if e.op == "sym" else None

        values += [rewrite(e, leaf) for e in member.function.outputs]
    params = tuple((f"n{k}", "") for k in range(len(numbers)))
    count = max(inputs, default=-1) + 1
    dtypes = tuple(inputs.get(k, "float32") for k in range(count))
    chosen = tuple(values[k] for k in outputs)
    return Group(ScalarFunction(dtypes, params, chosen), tuple(numbers))


def lower_group(description: bytes, kernels: dict[bytes, Kernel]) -> bytes:
    """The encoded kernel of a group; ``kernels`` collects what it calls."""
    group = group_of(description)
    declared = ", ".join(f"Scalar n{k}" for k in range(len(group.numbers)))
    schema = parse_schema(f"group({declared}) -> Tensor")
    positions = tuple(range(len(group.function.inputs)))
    lowered = lower_function(group.function, positions, schema, {})
    kernel = lowered.kernel
    kernels[kernel.kernel_id] = kernel
    kernels.update(tile_program(kernel).kernels)
    inputs = zip(lowered.operands, kernel.inputs, strict=True)
    params = [
        [*group.numbers[p.argument], _PARTS.index(p.part)] for p in lowered.params
    ]
    return encode(
        [
            kernel.kernel_id,
            [[number, CODES[dtype]] for number, dtype in inputs],
            [CODES[dtype] for dtype in kernel.outputs],
            params,
        ]
    )
